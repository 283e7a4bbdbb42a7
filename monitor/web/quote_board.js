// A quote table: a row for each instrument and venue, in a fixed order.
import {bus_link} from "./bus_names.js";
import {number_column, panel, set_text, Table, text_column} from "./dom.js";
import {count_text, duration_text} from "./numbers.js";
import {has_several_venues, quote_cells, quote_key, QuoteMemory, sorted_quotes} from "./quotes.js";

const kColumns = [
  ["symbol", text_column("symbol")], ["venue", number_column("venue", "publisher_id")],
  ["bid_size", number_column("bid size", null, "few")],
  ["bid", number_column("bid", null, "price")], ["ask", number_column("ask", null, "price")],
  ["ask_size", number_column("ask size", null, "left few")],
  ["last", number_column("last", null, "price")], ["last_size", number_column("last size")],
  ["spread", number_column("spread", null, "price")],
  ["age", number_column("age", "since the newest record of the instrument")]
];

export class QuoteBoard {
  constructor(directory) {
    this.directory = directory;
    const shell = panel("Quotes");
    this.root = shell.root;
    this.root.classList.add("quotes");
    this.note = shell.note;
    this.memory = new QuoteMemory();
    this.has_venues = null;
    this.table = null;
    this.root.addEventListener("click", event => {
      const link = event.target.closest("tr")?.querySelector("a");
      if (link) location.hash = link.getAttribute("href");
    });
  }

  // `chosen` is the id of the instrument whose book is shown, or null. `has_books`: the view shows
  // the chosen instrument's book.
  show(quotes, chosen, has_books) {
    const has_venues = has_several_venues(quotes);
    if (this.table === null || has_venues !== this.has_venues) {
      this.has_venues = has_venues;
      this.columns = kColumns.filter(([name]) => has_venues || name !== "venue");
      this.table?.root.remove();
      this.table = new Table("Quotes", this.columns.map(([, column]) => column));
      this.table.root.classList.add("board");
      this.root.append(this.table.root);
    }
    this.root.classList.toggle("alone", !has_books);
    this.memory.take(quotes);
    this.table.show(sorted_quotes(quotes).map(quote => {
      const cells = quote_cells(quote, this.memory);
      const {instrument_id: id} = quote;
      const all = {
        ...cells,
        age: quote.age_seconds === null ? "–" : duration_text(quote.age_seconds * 1e9),
        symbol: has_books ? {text: cells.symbol, href: bus_link(this.directory, `id:${id}`)} :
                            cells.symbol
      };
      return {
        key: quote_key(quote),
        class: has_books ? (id === chosen ? "choice chosen" : "choice") : "",
        cells: this.columns.map(([name]) => all[name])
      };
    }));
    set_text(
        this.note,
        quotes.length === 0 ?
            "no quotes yet" :
            `${count_text(quotes.length)} ${quotes.length === 1 ? "quote" : "quotes"}`);
  }
}
