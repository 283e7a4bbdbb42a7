// The quote rows.
import assert from "node:assert/strict";
import test from "node:test";

import {aligned_price, has_several_venues, quote_cells, QuoteMemory, sorted_quotes, spread_of} from "./quotes.js";

const quote = more => ({
  instrument_id: 1,
  publisher_id: 39,
  symbol: "AAPL",
  bid: 182_500_000_000,
  bid_size: 300,
  ask: 182_530_000_000,
  ask_size: 1200,
  last: 182_520_000_000,
  last_size: 5,
  last_side: "B",
  age_seconds: 0.5,
  ...more
});

test("rows are in the order of symbols and venues, whatever order they arrive in", () => {
  const quotes = [
    quote({symbol: null, instrument_id: 10}), quote({symbol: null, instrument_id: 9}),
    quote({symbol: "ES10", instrument_id: 3}), quote({symbol: "ES2", instrument_id: 4}),
    quote({publisher_id: 43}), quote()
  ];
  const order = list => sorted_quotes(list).map(
      ({symbol, instrument_id, publisher_id}) => `${symbol ?? instrument_id} ${publisher_id}`);
  const expected = ["AAPL 39", "AAPL 43", "ES2 39", "ES10 39", "9 39", "10 39"];
  assert.deepEqual(order(quotes), expected);
  assert.deepEqual(order([...quotes].reverse()), expected);
  assert.ok(has_several_venues(quotes));
  assert.ok(!has_several_venues([quote(), quote({instrument_id: 2})]));
});

test("points of prices stand below each other", () => {
  const figure = "\u2007";
  assert.equal(aligned_price(182_500_000_000, 2, 2), "182.50");
  assert.equal(aligned_price(13_900_000_000, 1, 2), `13.9${figure}`);
  assert.equal(aligned_price(5_000_000_000, 0, 2), `5\u2008${figure}${figure}`);
  assert.equal(aligned_price(1_083_450_000, 5, 5), "1.08345");
  assert.equal(aligned_price(null, 2, 5), "–");
  const memory = new QuoteMemory();
  memory.take([quote(), quote({instrument_id: 2, bid: 1_083_450_000})]);
  assert.equal(memory.decimals_max(), 5);
  assert.equal(quote_cells(quote(), memory).bid.text.trimEnd(), "182.50");
  // Decimals are kept when the next prices need fewer.
  memory.take([quote({bid: 182e9, ask: 183e9, last: 182e9})]);
  assert.equal(quote_cells(quote({bid: 182e9}), memory).bid.text, "182.00");
});

test("the spread is exact, and none without both sides", () => {
  assert.equal(spread_of(quote()), 30_000_000n);
  assert.equal(spread_of(quote({bid: "9223372036854775000", ask: "9223372036854775001"})), 1n);
  assert.equal(spread_of(quote({ask: null})), null);
  const memory = new QuoteMemory();
  const crossed = quote({bid: 182_540_000_000});
  memory.take([crossed]);
  assert.deepEqual(quote_cells(crossed, memory).spread, {text: "-0.01", class: "bad"});
});

test("a price that moves gets a class that differs from the last one", () => {
  const memory = new QuoteMemory();
  const moves = more => {
    memory.take([quote(more)]);
    return quote_cells(quote(more), memory).bid.class;
  };
  assert.equal(moves({}), "", "the first price has not moved");
  const up = moves({bid: 182_510_000_000});
  assert.match(up, /^up_/);
  assert.equal(moves({bid: 182_510_000_000}), up, "it stays, so that an animation ends by itself");
  const again = moves({bid: 182_520_000_000});
  assert.match(again, /^up_/);
  assert.notEqual(again, up);
  assert.match(moves({bid: 182_510_000_000}), /^down_/);
  const before = moves({bid: 182_510_000_000});
  assert.equal(moves({bid: null}), before);
  assert.equal(moves({bid: 182_510_000_000}), before, "a price that comes back has not moved");
});

test("a quote without sizes and prices has dashes", () => {
  const memory = new QuoteMemory();
  const empty = quote({
    symbol: null,
    bid: null,
    ask: null,
    last: null,
    bid_size: null,
    last_size: null,
    last_side: null
  });
  memory.take([empty]);
  const cells = quote_cells(empty, memory);
  assert.equal(cells.symbol, "1");
  for (const name of ["bid", "ask", "last", "spread"]) assert.equal(cells[name].text, "–");
  assert.equal(cells.bid_size, "–");
});
