// The server's history, inserted before the page's own measurements.
import assert from "node:assert/strict";
import test from "node:test";

import {BusSeries} from "./bus_series.js";
import {HeatMap} from "./histogram.js";
import {HistoryLoader} from "./history_loader.js";
import {Readings} from "./readings.js";
import {History, kPointsMax, merged} from "./series.js";
import {bus, subscriber} from "./test_readings.js";

const kStart = Date.parse("2026-11-27T09:00:00Z");
const times = (from, to) => Array.from({length: to - from}, (_, i) => kStart + (from + i) * 1000);
const rates = history => history.rows(["rate"], 0, kPointsMax);
const pushed = (seconds, value) => {
  const own = new History();
  for (const second of seconds) own.push(kStart + second * 1000, {rate: value});
  return own;
};

test("after a reload the charts are full at once", () => {
  const own = pushed([3600], 1);
  const result = merged(
      own,
      {times_ms: times(0, 3600), columns: new Map([["rate", times(0, 3600).map((_, i) => i)]])});
  const rows = rates(result);
  assert.equal(rows.length, kPointsMax);
  assert.deepEqual(rows[0], [kStart + 1000, 1], "the oldest gives way at the limit");
  assert.deepEqual(rows.at(-1), [kStart + 3_600_000, 1]);
});

test("no point is doubled, and the page's own numbers win", () => {
  const own = pushed([10, 11, 12], 7);
  const merge = shift_ms => {
    // The server is ahead of the stream by two readings.
    const times_ms = times(8, 15).map(time => time + shift_ms);
    return [merged(own, {times_ms, columns}), times_ms];
  };
  const columns = new Map([["rate", [1, 2, 3, 4, 5, 6, 7]]]);
  for (const shift_ms of [0, 40, -40]) {
    const [result, times_ms] = merge(shift_ms);
    assert.deepEqual(
        rates(result).map(([time, value]) => [time - kStart, value]),
        [[8000 + shift_ms, 1], [9000 + shift_ms, 2], [10_000, 7], [11_000, 7], [12_000, 7]]);
    assert.deepEqual(rates(merged(result, {times_ms, columns})), rates(result), "twice is once");
  }
});

test("the time that the page slept is filled", () => {
  const own = pushed([1, 2], 7);
  own.break_lines(kStart + 2001);
  own.push(kStart + 60_000, {rate: 7});
  const result = merged(
      own, {times_ms: times(0, 61), columns: new Map([["rate", times(0, 61).map(() => 5)]])});
  const rows = rates(result);
  assert.equal(rows.length, 61);
  assert.ok(rows.every(([, value]) => !Number.isNaN(value)));
});

test("lines break where neither has measured", () => {
  const own = pushed([0, 1, 2], 7);
  own.break_lines(kStart + 2001);
  own.push(kStart + 60_000, {rate: 7});
  // The server was restarted at second 50.
  const result = merged(
      own, {times_ms: times(50, 61), columns: new Map([["rate", times(50, 61).map(() => 5)]])});
  const after = rates(result).filter(([time]) => time > kStart + 2000);
  assert.ok(Number.isNaN(after[0][1]), "a break after the last point");
  assert.equal(after.filter(([, value]) => Number.isNaN(value)).length, 1);
  assert.equal(after.length, 12);
});

test("a number that the page could not measure is taken from the server", () => {
  const own = new History();
  own.push(kStart, {rate: 3, stalls_ms: NaN});  // the first reading has no earlier one
  const result = merged(
      own, {times_ms: times(-1, 1), columns: new Map([["rate", [1, 2]], ["stalls_ms", [5, 6]]])});
  assert.deepEqual(result.rows(["rate", "stalls_ms"], 0), [[kStart - 1000, 1, 5], [kStart, 3, 6]]);
});

test("ages are merged by their times", () => {
  const map = new HeatMap();
  map.add(kStart, [[1000, 5]]);
  map.add(kStart + 1000, [[1000, 8]]);
  const columns =
      [-2, -1, 0, 1].map(second => ({time_ms: kStart + second * 1000 + 30, buckets: [[1000, 10]]}));
  map.merge(columns, 1000);
  map.merge(columns, 1000);
  assert.deepEqual(map.sum(0), [[1000, 33]], "three of the server, one of the page");
  assert.deepEqual(
      map.columns.map(({time_ms}) => time_ms), [...map.columns.map(({time_ms}) => time_ms)].sort());
});

test("a bus takes lag, delay and ages of its subscribers", () => {
  const series = new BusSeries();
  const logger = subscriber({lag: 9, latency: {buckets: [[1000, 5]]}});
  series.add(
      kStart, bus({subscribers: [logger, subscriber({name: "risk", state: "missing", lag: 99})]}));
  series.merge({
    times_ms: times(-2, 0),
    rate: [1, 2],
    unarchived: [0, 0],
    undurable: [0, 0],
    stalls_ms: [0, 0],
    subscribers: [
      {
        name: "logger",
        pid: 7,
        connected_ns: 1,
        observes: false,
        lag: [3, null],
        delay_seconds: [0.5, 0],
        heat: [[1, [[1000, 4]]]]
      },
      {
        name: "left",
        pid: 8,
        connected_ns: 1,
        observes: false,
        lag: [1, 1],
        delay_seconds: [0, 0],
        heat: [[0, [[1000, 4]]]]
      }
    ]
  });
  assert.deepEqual(
      series.lag.rows(["logger/7/1"], 0), [[kStart - 2000, 3], [kStart - 1000, NaN], [kStart, 9]]);
  assert.deepEqual(series.heat.get("logger/7/1").sum(0), [[1000, 4]]);
  assert.ok(!series.heat.has("left/8/1"));
  assert.ok(series.lag.rows(["risk/7/1"], 0).every(([, lag]) => Number.isNaN(lag)));
});

async function load(answers, directories, shown) {
  const asked = [];
  globalThis.fetch = async path => {
    const directory = new URLSearchParams(path.split("?")[1]).get("bus");
    asked.push(directory);
    const answer = answers(directory);
    return {ok: answer !== null, status: answer === null ? 404 : 200, json: async () => answer};
  };
  const readings = new Readings();
  readings.take(
      {time: new Date(kStart).toISOString(), buses: directories.map(directory => bus({directory}))},
      0);
  let changes = 0;
  const loader = new HistoryLoader(readings, () => ++changes);
  loader.want(directories, shown);
  await new Promise(resolve => setTimeout(resolve, 20));
  loader.want(directories, shown);
  await new Promise(resolve => setTimeout(resolve, 20));
  return {asked, readings, changes: () => changes, loader};
}

test("each bus is fetched once, the shown one first", async () => {
  const {asked, readings} = await load(
      () => ({times_ms: times(-1, 0), rate: [4], subscribers: []}), ["/a", "/b", "/c"], "/b");
  assert.deepEqual(asked, ["/b", "/a", "/c"]);
  assert.deepEqual(
      readings.series.get("/c").bus.rows(["rate"], 0), [[kStart - 1000, 4], [kStart, 1]]);
});

test("an older server is asked once, and again only after a new connection", async () => {
  const {asked, loader} = await load(() => null, ["/a", "/b"], null);
  assert.deepEqual(asked, ["/a"]);
  loader.begin();
  loader.want(["/a", "/b"], null);
  await new Promise(resolve => setTimeout(resolve, 20));
  assert.deepEqual(asked, ["/a", "/a"]);
});
