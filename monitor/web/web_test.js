// The parts of the page that need no document: node --test monitor/web/web_test.js
import "./history_test.js";
import "./problems_test.js";
import "./quiet_test.js";
import "./quotes_test.js";

import assert from "node:assert/strict";
import fs from "node:fs";
import test from "node:test";

import {web_socket_address} from "./address.js";
import {depth_of, levels_of} from "./book.js";
import {bus_name, page_title} from "./bus_names.js";
import {p99_text, subscriber_state} from "./cells.js";
import {band_limit_ns, band_of, difference, HeatMap, kBands, percentile} from "./histogram.js";
import * as numbers from "./numbers.js";
import {History, kPointsMax, Ring, Tape} from "./series.js";
import {browser_settings, Settings} from "./storage.js";
import {reconnect_ms} from "./stream.js";
import {observer_count, visible_subscribers} from "./subscribers.js";
import {bus, subscriber} from "./test_readings.js";
import * as verdict from "./verdict.js";

test("a price is the exact decimal text of an integer in 1e-9", () => {
  assert.equal(numbers.price_text(4810250000000), "4,810.25");
  assert.equal(numbers.price_text(4810000000000, 2), "4,810.00");
  assert.equal(numbers.price_text(-1), "-0.000000001");
  assert.equal(numbers.price_text(0), "0");
  assert.equal(numbers.price_text("9223372036854775806"), "9,223,372,036.854775806");
  assert.equal(numbers.price_text("9223372036854775807"), numbers.kNothing);
  assert.equal(numbers.price_text(null), numbers.kNothing);
  assert.equal(numbers.price_decimals([4810250000000, 4810500000000, 4810000000000]), 2);
  assert.equal(numbers.price_decimals([5, null]), 9);
  assert.equal(numbers.price_decimals([]), 0);
});

test("integers that a number cannot hold stay exact, and nothing else changes", () => {
  const text = '{"a":1703548799446724905,"b":"1703548799446724905","c":0.12345678901234567,' +
      '"d":[-9223372036854775808,12],"e\\"1234567890123456":1e300}';
  assert.deepEqual(numbers.parse_exact(text), {
    a: "1703548799446724905",
    b: "1703548799446724905",
    c: 0.12345678901234567,
    d: ["-9223372036854775808", 12],
    'e"1234567890123456': 1e300
  });
  assert.deepEqual(numbers.parse_exact('{"a":12}'), {a: 12});
});

test("counts, short numbers, durations and times as text", () => {
  assert.equal(numbers.count_text(1234567), "1,234,567");
  assert.equal(numbers.count_text("12345678901234567890"), "12,345,678,901,234,567,890");
  assert.equal(numbers.count_text(999.6), "1,000");
  assert.equal(numbers.count_text(null), numbers.kNothing);
  for (const [value, text] of [
           [0, "0"], [999, "999"], [1000, "1k"], [1234567, "1.23M"], [-20500, "-20.5k"],
           [999999, "1M"], [0.5, "0.5"], [120000, "120k"]]) {
    assert.equal(numbers.short_text(value), text);
  }
  for (const [ns, text] of [
           [0, "0 ns"], [850, "850 ns"], [1000, "1.00 µs"], [12_345, "12.3 µs"],
           [999_900, "1.00 ms"], [3.4e9, "3.40 s"], [119e9, "119 s"], [180e9, "3 min"],
           [7.2e12, "2.0 h"]]) {
    assert.equal(numbers.duration_text(ns), text);
  }
  assert.equal(numbers.time_of_day_text("1703548799446724905"), "23:59:59.446724");
  assert.equal(numbers.clock_text("2026-11-27T09:53:04.114102919Z"), "09:53:04");
});

test("a ring keeps the newest numbers, up to its limit", () => {
  const ring = new Ring();
  for (let i = 0; i < 10_000; ++i) ring.push(i);
  assert.equal(ring.size, kPointsMax);
  assert.equal(ring.at(0), 10_000 - kPointsMax);
  assert.equal(ring.at(kPointsMax - 1), 9_999);
  assert.equal(ring.values.length, kPointsMax);
  const small = new Ring(3);
  for (const value of [1, 2, 3, 4]) small.push(value);
  assert.deepEqual([0, 1, 2].map(i => small.at(i)), [2, 3, 4]);
});

test("columns of a history share their times, from whenever they are there", () => {
  const history = new History(4);
  history.push(1, {a: 10});
  history.push(2, {a: 11, b: 5});
  history.push(3, {b: 6});
  assert.deepEqual(history.rows(["a", "b"], 0), [[1, 10, NaN], [2, 11, 5], [3, NaN, 6]]);
  assert.deepEqual(history.rows(["b", "c"], 2), [[2, 5, NaN], [3, 6, NaN]]);
  for (let time = 4; time < 8; ++time) history.push(time, {b: time, late: time});
  assert.deepEqual([...history.columns.keys()], ["b", "late"], "a column with no number left goes");
  assert.deepEqual(history.rows(["b", "late"], 0), [4, 5, 6, 7].map(time => [time, time, time]));
});

test("a history of subscribers that come and go does not grow", () => {
  const history = new History();
  for (let i = 0; i < 10_000; ++i) history.push(i, {steady: 1, [`guest ${i}`]: 1});
  assert.ok(history.columns.size <= 64, `${history.columns.size} columns`);
  assert.ok(history.columns.has("steady"));
  assert.equal(history.times.size, kPointsMax);
});

test("fewer points than readings keep every peak, and a break", () => {
  const history = new History();
  for (let i = 0; i < 3000; ++i) history.push(i, {lag: i === 1234 ? 99 : 1});
  history.break_lines(3000);
  const rows = history.rows(["lag"], 0, 100);
  assert.ok(rows.length <= 101 && rows.length > 50, `${rows.length} rows`);
  assert.equal(Math.max(...rows.map(row => row[1]).filter(value => !Number.isNaN(value))), 99);
  assert.deepEqual(history.rows(["lag"], 2999), [[2999, 1], [3000, NaN]]);
});

test("the tape has each trade once, the newest 200", () => {
  const tape = new Tape();
  const trades = (from, to) => Array.from({length: to - from}, (_, i) => ({sequence: from + i}));
  tape.add(trades(1, 51));
  tape.add(trades(21, 71));
  assert.deepEqual(tape.trades.map(trade => trade.sequence), trades(1, 71).map(t => t.sequence));
  for (let i = 71; i < 1000; i += 50) tape.add(trades(i, i + 50));
  assert.equal(tape.trades.length, 200);
  assert.equal(tape.trades.at(-1).sequence, 1020);
});

test("the difference of two histograms", () => {
  const old = [[100, 5], [200, 2]];
  assert.deepEqual(difference([[100, 7], [150, 1], [200, 2]], old), [[100, 2], [150, 1]]);
  assert.deepEqual(difference(old, old), []);
  assert.equal(difference(old, null), null);
  assert.equal(difference([[100, 4], [200, 2]], old), null, "another run of the subscriber");
  assert.equal(difference([[200, 2]], old), null);
  assert.deepEqual(
      difference([[100, 5], [900, 4]], old), [[900, 2]],
      "the bound of the last bucket of all is the largest age, which grows");
  assert.deepEqual(difference([[100, 6], [900, 2]], old), [[100, 1]]);
});

test("percentiles are bounds of buckets", () => {
  const buckets = [[100, 98], [200, 1], [300, 1]];
  assert.equal(percentile(buckets, 0.5), 100);
  assert.equal(percentile(buckets, 0.99), 200);
  assert.equal(percentile(buckets, 1), 300);
  assert.equal(percentile([], 0.5), null);
});

test("every age has the band whose bounds are around it", () => {
  for (let ns = 200; ns < 3e10; ns *= 1.37) {
    const band = band_of(ns);
    assert.ok(ns <= band_limit_ns(band) * 1.0000001, `${ns}`);
    assert.ok(ns > band_limit_ns(band - 1), `${ns}`);
  }
  assert.equal(band_of(0), 0);
  assert.equal(band_of(1e18), kBands - 1);
});

test("a heat map counts what is new, where and when it was", () => {
  const map = new HeatMap(3);
  map.add(1000, [[1000, 5]]);
  map.add(2000, [[1000, 8]]);
  map.add(3000, [[1000, 8], [5000, 4]]);
  const cells = map.cells(1000, 3000, 2);
  assert.equal(cells.reduce((sum, count) => sum + count, 0), 7);
  assert.equal(cells[band_of(5000) + kBands], 4);
  assert.deepEqual(map.sum(0), [[1000, 3], [5000, 4]]);
  for (let i = 4; i < 20; ++i) map.add(i * 1000, [[1000, 8 + i], [5000, 4]]);
  assert.equal(map.columns.length, 3);
});

test("the waits before reconnecting are 1 to 30 s, and drawn", () => {
  assert.equal(reconnect_ms(0, 0), 1_000);
  assert.ok(reconnect_ms(0, 0.999) < 2_000);
  assert.ok(reconnect_ms(3, 0) >= 8_000);
  for (let attempt = 0; attempt < 2000; ++attempt) {
    assert.ok(reconnect_ms(attempt, 0) >= 1_000 && reconnect_ms(attempt, 1) <= 30_000);
    assert.notEqual(reconnect_ms(attempt, 0.2), reconnect_ms(attempt, 0.7));
  }
  assert.equal(reconnect_ms(100, 1), 30_000);
});

test("depth: sums of sizes from the best price outwards", () => {
  const bids = levels_of([{price: 100, size: 2, orders: 1}, {price: 99, size: 3, orders: 2}]);
  const asks = levels_of([{price: 101, size: 10, orders: 4}]);
  assert.deepEqual(bids.map(level => level.sum), [2, 5]);
  const depth = depth_of(bids, asks);
  assert.equal(depth.sum_max, 10);
  assert.deepEqual(depth.bids.map(step => step.y), [0.2, 0.5]);
  assert.equal(depth.bids[0].x0, depth.bids[1].x1);
  assert.ok(depth.bids[0].x1 < depth.asks[0].x0);
  assert.equal(depth.bids[1].x0, 0);
  assert.equal(depth.asks[0].x1, 1);
  assert.deepEqual(depth_of([], []).bids, []);
  assert.equal(depth_of(bids, []).asks.length, 0);
});

test("the summary names the subscriber that is furthest behind", () => {
  assert.match(verdict.summary_of({buses: []}), /No bus/);
  assert.equal(verdict.summary_of({buses: [bus()]}), "1 of 1 bus runs, 0 subscribers.");
  assert.equal(
      verdict.summary_of({
        buses: [
          bus({state: "gone"}),
          bus({subscribers: [subscriber({lag: 3}), subscriber({name: "slow", lag: 1200})]})
        ]
      }),
      "1 of 2 buses runs, 2 subscribers. Furthest behind: slow on es, by 1,200 records.");
  // Observers and missing subscribers are not behind.
  const crowd = {
    buses: [bus({
      label: "bob/es",
      subscribers: [
        subscriber({lag: 3}), subscriber({name: "serve", observes: true, lag: 500_000}),
        subscriber({name: "risk", state: "missing", lag: 9000})
      ]
    })]
  };
  assert.equal(
      verdict.summary_of(crowd),
      "1 of 1 bus runs, 1 subscriber, 1 missing. Furthest behind: logger on bob/es, by 3 records.");
  assert.match(
      verdict.summary_of(crowd, true), /2 subscribers, .* serve on bob\/es, by 500,000 records/);
});

test("what is old is called old", () => {
  const reading = {time: "2026-11-27T09:53:04.1Z"};
  const open = {state: "open", status: null};
  assert.equal(verdict.connection_sentence(open, reading, 900, 1000), null);
  assert.match(verdict.connection_sentence(open, reading, 3500, 1000), /no new readings.*09:53:04/);
  assert.equal(verdict.connection_sentence(open, reading, 20_000, 10_000), null);
  assert.match(verdict.connection_sentence({state: "waiting"}, reading, 0, 1000), /Not connected/);
  assert.match(verdict.connection_sentence({state: "waiting", status: 401}, null, 0, 0), /token/);
});

test("the view says how far behind it is, and why it stands", () => {
  const open = {state: "open", status: null};
  const view = more => ({state: "live", sequence: 1200, behind: 7, lost: 0, why: null, ...more});
  const of = (more, stream = open, age = 0) => verdict.view_sentence(stream, view(more), age);
  assert.deepEqual(of({}), {text: "Sequence 1,200, 7 behind.", is_old: false, is_bad: false});
  assert.ok(of({lost: 5}).is_bad);
  assert.match(of({state: "joining"}).text, /stored records, 7 records to go/);
  assert.match(of({state: "filling"}).text, /7 records behind/);
  assert.equal(
      of({state: "waiting", why: "the publisher ended"}).text,
      "The publisher ended. Shown as of sequence 1,200.");
  assert.match(of({state: "waiting"}).text, /publisher is gone.*sequence 1,200/);
  assert.match(
      of({state: "ended", why: "the bus was removed."}).text,
      /^The view has ended. The bus was removed. /);
  assert.ok(of({}, open, 5000).is_old);
  assert.match(of({}, {state: "waiting", status: 403}).text, /may not read/);
  const full = {state: "waiting", status: 503, why: "16 buses are viewed already"};
  assert.match(of({}, full).text, /^16 buses are viewed already\. /);
  assert.match(of({}, {...full, why: ""}).text, /no view of this bus now/);
  assert.match(verdict.view_sentence(open, null, 0).text, /Reading/);
});

test("the title has the number of problems, the bus and the machine", () => {
  assert.equal(page_title(3, "desk7"), "(3) desk7 – Lapwing");
  assert.equal(page_title(0, "desk7", "es"), "es – desk7 – Lapwing");
  assert.equal(page_title(0, undefined), "Lapwing", "an older server sends no host");
  assert.equal(bus_name({label: "bob/es", name: "es", directory: "/b/es"}), "bob/es");
  assert.equal(bus_name({name: "", directory: "/b/es"}), "/b/es");
});

test("addresses are relative to the page", () => {
  const of = page => web_socket_address("api/v1/view?bus=%2Fes", page);
  assert.equal(
      of("https://host.example/lapwing/#bus=%2Fes"),
      "wss://host.example/lapwing/api/v1/view?bus=%2Fes");
  assert.equal(of("http://127.0.0.1:9477/"), "ws://127.0.0.1:9477/api/v1/view?bus=%2Fes");
  assert.equal(of("http://127.0.0.1:9477/index.html"), "ws://127.0.0.1:9477/api/v1/view?bus=%2Fes");
});

test("no file of the page names an absolute path of the server", () => {
  const folder = new URL(".", import.meta.url);
  for (const name of fs.readdirSync(folder)) {
    if (!/\.(js|html|css)$/.test(name) || /_test|^test_/.test(name)) continue;
    const text = fs.readFileSync(new URL(name, folder), "utf8");
    assert.doesNotMatch(text, /(["'`(]|url\()\/(?!\/)[\w.]+[\w./]*["'`?)]/, name);
  }
});

test("settings outlive a reload if the browser stores them, and else the moment", () => {
  const stored = new Map();
  const area = {
    getItem: name => stored.get(name) ?? null,
    setItem: (name, text) => stored.set(name, text)
  };
  new Settings(area).set("show_observers", true);
  assert.equal(new Settings(area).get("show_observers"), true);
  stored.set([...stored.keys()][0], "{no JSON");
  assert.equal(new Settings(area).get("show_observers"), null);

  const refuses = () => {
    throw new Error("not allowed");
  };
  for (const broken of [null, {getItem: refuses, setItem: refuses}]) {
    const settings = new Settings(broken);
    settings.set("show_observers", true);
    assert.equal(settings.get("show_observers"), broken === null ? true : null);
  }
  assert.equal(browser_settings().get("none"), null);
});

test("observers are left out unless they are wanted", () => {
  const es = bus({subscribers: [subscriber(), subscriber({name: "serve", observes: true})]});
  assert.deepEqual(visible_subscribers(es, false).map(s => s.name), ["logger"]);
  assert.equal(visible_subscribers(es, true).length, 2);
  assert.deepEqual(visible_subscribers(bus({subscribers: null}), true), []);
  assert.equal(observer_count([es, bus({subscribers: null}), es]), 2);
});

test("p99 is of the last minute, and since the start only from an older server", () => {
  const latency = {count: 9, p99_ns: 775_000_000};
  assert.equal(
      p99_text({latency: {...latency, window: {count: 5, p99_ns: 29_000_000}}}), "29.0 ms");
  assert.equal(p99_text({latency: {...latency, window: null}}), numbers.kNothing);
  assert.equal(p99_text({latency}), "775 ms");
  assert.equal(p99_text({latency: null}), numbers.kNothing);
});

test("the state of a subscriber is a word, with details in its title", () => {
  const of = more => subscriber_state(subscriber(more));
  assert.deepEqual(of({}), {text: "live", class: "", title: null});
  assert.equal(of({report_age_seconds: null}).title, "has never reported");
  assert.equal(of({report_age_seconds: 12}).title, "last report 12.0 s ago");
  assert.equal(of({silent: true}).text, "silent");
  assert.equal(of({silent: true, stopped: true}).text, "STOPPED");
  assert.deepEqual(
      of({state: "missing", missing_since: "2026-11-27T09:31:07.5Z", process: "ended"}),
      {text: "missing", class: "bad", title: "since 09:31:07 UTC; its process has ended"});
});
