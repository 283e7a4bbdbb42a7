// Ladder, depth chart and tape of one order book.
import {depth_of, levels_of} from "./book.js";
import {element, number_column, panel, set_text, svg, Table, text_column} from "./dom.js";
import {count_text, price_decimals, price_text, short_text, time_of_day_text} from "./numbers.js";

const kDepthWidth = 400;
const kDepthHeight = 150;

export class Ladder {
  constructor() {
    const shell = panel("Order book");
    this.root = shell.root;
    this.note = shell.note;
    this.warning = element("p", {class: "warning", role: "status", hidden: true});
    this.table = new Table("Order book", [
      number_column("orders", null, "few"), number_column("sum", null, "few"),
      {title: "bid", class: "number bid"}, {title: "price", class: "price"},
      {title: "ask", class: "number ask"}, number_column("sum", null, "few"),
      number_column("orders", null, "few")
    ]);
    this.table.root.classList.add("ladder");
    this.root.append(this.warning, this.table.root);
  }

  show(book, sequence) {
    const bids = levels_of(book?.bids ?? []);
    const asks = levels_of(book?.asks ?? []);
    const decimals = price_decimals([...bids, ...asks].map(level => level.price));
    const row = (level, key, is_bid) => {
      const sizes = [count_text(level.orders), count_text(level.sum), count_text(level.size)];
      const none = ["", "", ""];
      return {
        key,
        class: is_bid ? "of_bid" : "of_ask",
        cells: [
          ...(is_bid ? sizes : none), price_text(level.price, decimals),
          ...(is_bid ? none : sizes.reverse())
        ]
      };
    };
    const rows = [
      ...asks.map((level, i) => row(level, `ask ${i}`, false)).reverse(),
      ...bids.map((level, i) => row(level, `bid ${i}`, true))
    ];
    if (bids.length && asks.length) {
      const spread = BigInt(asks[0].price) - BigInt(bids[0].price);
      rows.splice(asks.length, 0, {
        key: "spread",
        class: "spread",
        cells: ["", "", "", price_text(spread, decimals), "", "", ""]
      });
    }
    this.table.show(rows);
    const size_max =
        Math.max(1, ...bids.map(level => level.size), ...asks.map(level => level.size));
    this.mark(bids, "bid", 2, size_max);
    this.mark(asks, "ask", 4, size_max);
    const spread_row = this.table.rows.get("spread");
    if (spread_row) spread_row.cells[3].title = "spread";
    set_text(
        this.note,
        book ? `${count_text(book.orders)} orders, ${count_text(book.bid_levels)} × ${
                   count_text(book.ask_levels)} levels` :
               "no book yet");
    this.root.dataset.sequence = sequence ?? "";
    this.root.dataset.instrument = book?.instrument_id ?? "";
    this.root.classList.toggle("stale", Boolean(book?.stale));
    this.warning.hidden = !book?.stale;
    set_text(
        this.warning,
        book?.stale ?
            "Stale: this book has lost records. Its next clear or snapshot makes it valid again." :
            "");
  }

  // Each row's data are its exact level. The bar behind a size shows its share of the largest
  // size.
  mark(levels, name, column, size_max) {
    levels.forEach((level, i) => {
      const row = this.table.rows.get(`${name} ${i}`);
      row.dataset.price = level.price;
      row.dataset.size = level.size;
      row.dataset.orders = level.orders;
      row.cells[column].style.setProperty("--share", (level.size / size_max).toFixed(3));
    });
  }
}

export class DepthChart {
  constructor() {
    const shell = panel("Depth");
    this.root = shell.root;
    this.note = shell.note;
    this.picture = svg("svg", {
      viewBox: `0 0 ${kDepthWidth} ${kDepthHeight}`,
      preserveAspectRatio: "none",
      role: "img",
      "aria-label": "Sums of sizes by price"
    });
    this.steps = [];
    this.low = element("span");
    this.middle = element("span");
    this.high = element("span");
    this.root.append(
        this.picture, element("div", {class: "scale"}, this.low, this.middle, this.high));
  }

  show(book) {
    const bids = levels_of(book?.bids ?? []);
    const asks = levels_of(book?.asks ?? []);
    const depth = depth_of(bids, asks);
    const steps = [
      ...depth.bids.map(step => ({...step, side: "bid"})),
      ...depth.asks.map(step => ({...step, side: "ask"}))
    ];
    while (this.steps.length > steps.length) this.steps.pop().remove();
    while (this.steps.length < steps.length) {
      this.steps.push(this.picture.appendChild(svg("rect")));
    }
    steps.forEach((step, i) => {
      const rectangle = this.steps[i];
      const height = step.y * (kDepthHeight - 4);
      set_svg_class(rectangle, step.side);
      const attributes = {
        x: step.x0 * kDepthWidth,
        width: Math.max(0.5, (step.x1 - step.x0) * kDepthWidth),
        y: kDepthHeight - height,
        height,
        "data-price": step.price,
        "data-sum": step.sum
      };
      for (const [name, value] of Object.entries(attributes)) {
        if (rectangle.getAttribute(name) !== String(value)) rectangle.setAttribute(name, value);
      }
    });
    const decimals = price_decimals([...bids, ...asks].map(level => level.price));
    set_text(this.low, price_text(bids.at(-1)?.price ?? null, decimals));
    set_text(
        this.middle,
        bids.length && asks.length ?
            `${price_text(bids[0].price, decimals)} × ${price_text(asks[0].price, decimals)}` :
            "");
    set_text(this.high, price_text(asks.at(-1)?.price ?? null, decimals));
    set_text(
        this.note,
        steps.length ? `${short_text(bids.at(-1)?.sum ?? 0)} bid, ${
                           short_text(asks.at(-1)?.sum ?? 0)} asked, ` +
                `${Math.max(bids.length, asks.length)} levels` :
                       "");
  }
}

function set_svg_class(node, name) {
  if (node.getAttribute("class") !== name) node.setAttribute("class", name);
}

const kSides = {
  B: "buy",
  A: "sell"
};

export class TapePanel {
  constructor() {
    const shell = panel("Trades");
    this.root = shell.root;
    this.note = shell.note;
    this.table = new Table("Trades, the newest first", [
      text_column("time (UTC)"), text_column("side"), number_column("size"), number_column("price")
    ]);
    this.table.root.classList.add("tape");
    this.root.append(this.table.root);
  }

  show(trades) {
    const decimals = price_decimals(trades.map(trade => trade.price));
    this.table.show(trades
                        .map(trade => ({
                               key: trade.sequence,
                               class: kSides[trade.side] ?? "",
                               cells: [
                                 time_of_day_text(trade.time_ns), kSides[trade.side] ?? "–",
                                 count_text(trade.size), price_text(trade.price, decimals)
                               ]
                             }))
                        .reverse());
    for (const trade of trades) {
      const row = this.table.rows.get(trade.sequence);
      row.dataset.sequence = trade.sequence;
      row.title = `sequence ${count_text(trade.sequence)}`;
    }
    set_text(this.note, trades.length ? `the last ${trades.length}` : "none yet");
  }
}

// The newest record of each key, for a bus that has no order books.
export class RecordsPanel {
  constructor() {
    const shell = panel("Newest records");
    this.root = shell.root;
    this.note = shell.note;
    this.fields = "";
    this.table = null;
  }

  show(records, schema) {
    const fields = [...new Set(records.flatMap(record => Object.keys(record)))];
    if (fields.join() !== this.fields) {
      this.fields = fields.join();
      this.table?.root.remove();
      this.table = new Table("Newest records", fields.map(title => ({title, class: "number"})));
      this.root.append(this.table.root);
    }
    this.table?.show(records.map(
        (record, i) =>
            ({key: i, cells: fields.map(field => field_text(schema, field, record[field]))})));
    set_text(this.note, `${records.length} ${records.length === 1 ? "key" : "keys"}, ${schema}`);
  }
}

const kPriceField = /^(price|open|high|low|close|bid_px.*|ask_px.*)$/;
const kTimeField = /^ts_(event|recv|out)$|^time$|_time$|time_ns$/;

export function field_text(schema, field, value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "object") return JSON.stringify(value);
  if (/^-?\d+$/.test(String(value))) {
    if (String(schema).startsWith("dbn.") && kPriceField.test(field)) return price_text(value);
    if (kTimeField.test(field) && String(value).length === 19) return time_of_day_text(value);
  }
  return String(value);
}
