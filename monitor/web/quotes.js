// The quote rows: their order, their texts, and the directions in which prices moved.
//
// A quote is an entry in a view's `quotes`: prices are integers in units of 1e-9, or null.
//
// Pure: no document.
import {compare_names} from "./bus_names.js";
import {count_text, kNothing, price_decimals, price_text} from "./numbers.js";

const kPrices = ["bid", "ask", "last"];
const kFigureSpace = "\u2007";       // as wide as a digit
const kPunctuationSpace = "\u2008";  // as wide as a point

export function quote_key({instrument_id, publisher_id}) {
  return `${instrument_id}/${publisher_id}`;
}

// By symbol, then by venue; instruments without a symbol are last, by number.
export function sorted_quotes(quotes) {
  return [...quotes].sort(
      (a, b) => (a.symbol === null) - (b.symbol === null) ||
          compare_names(a.symbol ?? "", b.symbol ?? "") || a.instrument_id - b.instrument_id ||
          a.publisher_id - b.publisher_id);
}

export function has_several_venues(quotes) {
  return new Set(quotes.map(({publisher_id}) => publisher_id)).size > 1;
}

// The ask minus the bid, an integer in units of 1e-9, or null. Negative if the market is crossed.
export function spread_of({bid, ask}) {
  return bid === null || ask === null ? null : BigInt(ask) - BigInt(bid);
}

// A price with at least `decimals` decimals, padded to `width` so that the decimal points of all
// rows are aligned.
export function aligned_price(price, decimals, width) {
  if (price === null || price === undefined) return kNothing;
  const text = price_text(price, decimals);
  const point = text.indexOf(".");
  const shown = point < 0 ? 0 : text.length - point - 1;
  if (shown >= width) return text;
  return text + (shown === 0 ? kPunctuationSpace : "") + kFigureSpace.repeat(width - shown);
}

// The data to keep between messages.
export class QuoteMemory {
  constructor() {
    this.quotes = new Map();  // key -> {decimals, bid, ask, last, moves: {field: class}}
  }

  // Takes all quotes in a message, and forgets those that no longer exist.
  take(quotes) {
    const older = this.quotes;
    this.quotes = new Map();
    for (const quote of quotes) {
      const key = quote_key(quote);
      const before = older.get(key);
      const now = {
        // Decimals that were shown once are kept: after 182.53, 182.5 is shown as 182.50.
        decimals: Math.max(before?.decimals ?? 0, price_decimals(kPrices.map(name => quote[name]))),
        moves: {}
      };
      for (const name of kPrices) {
        now[name] = quote[name] === null ? null : BigInt(quote[name]);
        now.moves[name] = move_class(before?.[name], now[name], before?.moves[name] ?? "");
      }
      this.quotes.set(key, now);
    }
  }

  get(quote) {
    return this.quotes.get(quote_key(quote));
  }
  // The maximum over all rows.
  decimals_max() {
    return [...this.quotes.values()].reduce((most, {decimals}) => Math.max(most, decimals), 0);
  }
}

// The class of a price: "up_0", "up_1", "down_0" or "down_1". The digit changes with each move, so
// that a browser restarts the animation.
function move_class(before, now, last_class) {
  if (before === undefined || before === null || now === null || before === now) return last_class;
  return `${now > before ? "up" : "down"}_${last_class.endsWith("0") ? 1 : 0}`;
}

const kSides = {
  B: "buy",
  A: "sell"
};

// A row's cells by column.
export function quote_cells(quote, memory) {
  const {decimals, moves} = memory.get(quote);
  const width = memory.decimals_max();
  const spread = spread_of(quote);
  const price = name => ({text: aligned_price(quote[name], decimals, width), class: moves[name]});
  return {
    symbol: quote.symbol ?? String(quote.instrument_id),
    venue: String(quote.publisher_id),
    bid_size: count_text(quote.bid_size),
    bid: price("bid"),
    ask: price("ask"),
    ask_size: count_text(quote.ask_size),
    last: {...price("last"), title: kSides[quote.last_side] ?? null},
    last_size: count_text(quote.last_size),
    spread: {
      text: aligned_price(spread, decimals, width),
      class: spread !== null && spread < 0n ? "bad" : ""
    }
  };
}
