// Problems: which ones exist, their order, and the order of rows that they produce.
import assert from "node:assert/strict";
import test from "node:test";

import {expected_problems, is_bad_bus, is_bad_event, is_bad_subscriber, kGone, kPublisher, kSubscriber, lines_of, problems_of, RowRanks} from "./problems.js";
import {bus, gone_bus, subscriber} from "./test_readings.js";

const texts_of = more => problems_of(bus(more)).map(problem => problem.text);
const lines_for = (...buses) => lines_of(buses.flatMap(problems_of));

test("problems are reported, and what is well is not", () => {
  assert.deepEqual(texts_of({}), []);
  assert.deepEqual(texts_of({subscribers: [subscriber({lag: 1000})]}), []);
  assert.match(texts_of({state: "gone"})[0], /^es: the publisher ended/);
  assert.match(texts_of({state: "silent"})[0], /heartbeat/);
  assert.match(texts_of({ring: {journal: "shed"}})[0], /journaling was stopped\. Records/);
  assert.match(texts_of({ring: {journal: "failed"}})[0], /the journal has failed\. Records/);
  assert.match(
      texts_of({state: "unreadable", ring: null, ring_why: "not permitted"})[0], /not permitted/);
  assert.deepEqual(
      texts_of({subscribers: [subscriber({lost: 1})]}), ["logger on es has lost 1 record."]);
  assert.match(
      texts_of({subscribers: [subscriber({stopped: true, lag: 1234})]})[0], /process is stopped/);
  assert.deepEqual(
      texts_of({subscribers: [subscriber({far_behind: true})]}),
      ["logger on es is more than 5 s behind."]);
  assert.match(
      texts_of({subscribers: [subscriber({stopped: true, far_behind: true})]}).join(),
      /^[^,]*process is stopped[^,]*,[^,]*$/);
  const late = {lost: 2, far_behind: true, stopped: true, silent: true};
  assert.deepEqual(texts_of({subscribers: [subscriber({observes: true, ...late})]}), []);
  const unanswered = bus({subscribers: null, subscribers_why: "its control socket is gone."});
  assert.deepEqual(
      problems_of(unanswered).map(({text, severity}) => [text, severity]),
      [["es: its subscribers are unknown: its control socket is gone.", kPublisher]]);
  assert.ok(is_bad_bus(unanswered));
  assert.deepEqual(
      texts_of({subscribers: [subscriber({lost: 2}), subscriber({pid: 8, lost: 3})]}),
      ["logger (7) on es has lost 2 records.", "logger (8) on es has lost 3 records."]);
  assert.match(texts_of({label: "bob/es", state: "gone"})[0], /^bob\/es: /);
});

test("a missing subscriber: since when, and its process", () => {
  const of = more =>
      texts_of({subscribers: [subscriber({name: "stuck", state: "missing", ...more})]});
  assert.deepEqual(
      of({missing_since: "2026-11-27T09:31:07.114102919Z", process: "stopped", stopped: true}),
      ["stuck on es has been missing since 09:31:07 UTC: it has not returned after the publisher " +
       "restarted. Its process is stopped. Resume it, or run " +
       "`lapwing subscribers --bus DIR --forget NAME`."]);
  assert.match(
      of({process: "ended"})[0],
      /has been missing: .* Its process has ended\. Start it again, or run/);
  assert.match(of({process: "running"})[0], /Its process is running\. Restart it, or run/);
  assert.match(of({process: null})[0], /the publisher restarted\. Start it again, or run/);
  assert.ok(is_bad_subscriber(subscriber({state: "missing"})));
});

test("a silent subscriber", () => {
  assert.deepEqual(
      texts_of({subscribers: [subscriber({silent: true})]}),
      ["logger on es is behind and has not reported for more than 3 s."]);
  assert.deepEqual(
      texts_of({subscribers: [subscriber({silent: true, far_behind: true})]}),
      ["logger on es is more than 5 s behind and has not reported for more than 3 s."]);
  assert.ok(is_bad_subscriber(subscriber({silent: true})));
});

test("expected subscribers: absent ones, also if their bus is not known", () => {
  const one = more =>
      ({bus: "es", directory: "/es", subscriber: "record", state: "absent", why: null, ...more});
  const of = (expected, ...buses) =>
      expected_problems({buses, expected}).map(({text, severity}) => [text, severity]);
  const absent = [["record on es is expected and not attached.", kSubscriber]];
  assert.deepEqual(of([one({})], bus({})), absent);
  assert.deepEqual(of([one({state: "attached"}), one({state: "missing"})], bus({})), []);
  const why = "no bus with this label is known";
  assert.deepEqual(
      of([one({state: "unknown", directory: null, why})]),
      [["record on es is expected and not attached: no bus with this label is known.",
        kSubscriber]]);
  // The bus's own problem is shown.
  assert.deepEqual(of([one({state: "unknown", why: "its publisher is gone"})], gone_bus("es", 1)), []);
  assert.deepEqual(expected_problems({buses: []}), []);  // from an older server
});

test("events of a killed publisher and of missing subscribers are bad", () => {
  for (const event of ["loss", "journal-failed", "journal-shed", "killed", "missing"])
    assert.ok(is_bad_event({event}), event);
  for (const event of ["session", "forgotten", "attached", "gap"])
    assert.ok(!is_bad_event({event}), event);
});

test("one stopped subscriber comes before ten dead buses, which share a line", () => {
  const dead = Array.from({length: 10}, (_, i) => gone_bus(`test${i + 1}`, 30 - i));
  const es = bus({subscribers: [subscriber({name: "stuck", stopped: true})]});
  for (const buses of [[...dead, es], [es, ...dead]]) {
    const lines = lines_for(...buses);
    assert.deepEqual(lines.map(({text}) => text), [
      "stuck on es: its process is stopped, by a signal or a debugger.",
      "10 buses have no publisher: test10, test9, test8 and 7 more."
    ]);
    assert.equal(lines[1].members.length, 10);
  }
  // Even if all ten were killed a moment ago.
  const killed = Array.from({length: 10}, (_, i) => gone_bus(`test${i}`, 0));
  assert.match(lines_for(...killed, es)[0].text, /^stuck on es/);
});

test("problems of live buses stand in the order of their severity", () => {
  const lines = lines_for(
      bus({directory: "/a", name: "a", subscribers: [subscriber({far_behind: true})]}),
      bus({directory: "/b", name: "b", subscribers: null, subscribers_why: "no answer"}),
      bus({directory: "/c", name: "c", subscribers: [subscriber({state: "missing"})]}),
      bus({directory: "/d", name: "d", state: "silent"}),
      bus({directory: "/e", name: "e", subscribers: [subscriber({lost: 5})]}),
      bus({directory: "/f", name: "f", ring: {journal: "failed"}}), gone_bus("old", 30),
      gone_bus("new", 0.5));
  assert.deepEqual(
      lines.map(({bus: directory}) => directory),
      ["/f", "/e", "/b", "/d", "/new", "/c", "/a", "/old"]);
});

test("a publisher that has just ended has a line of its own among dead ones", () => {
  const dead = [1, 2, 3].map(i => gone_bus(`test${i}`, 30));
  const lines = lines_for(...dead, gone_bus("es", 0.1));
  assert.match(lines[0].text, /^es: the publisher ended/);
  assert.match(lines[1].text, /^3 buses have no publisher: test1, test2, test3\.$/);
  // Two are too few to share a line.
  assert.equal(lines_for(gone_bus("a", 30), gone_bus("b", 30)).length, 2);
});

test("rows: hurting ones first, then quiet and healthy ones, then buses long dead", () => {
  const dead = [1, 2, 3].map(i => gone_bus(`test${i}`, 30));
  const hurt = bus({
    directory: "/hurt",
    subscribers: [subscriber(), subscriber({name: "stuck", stopped: true})]
  });
  const quiet = bus({directory: "/quiet", state: "silent"});
  const healthy = bus({directory: "/healthy"});
  const ranks = new RowRanks(lines_for(hurt, ...dead));  // `quiet` is acknowledged
  const order = [dead[0], healthy, quiet, hurt].sort((a, b) => ranks.bus(a) - ranks.bus(b));
  assert.deepEqual(order.map(one => one.directory), ["/hurt", "/quiet", "/healthy", "/test1"]);
  const [well, stuck] = hurt.subscribers;
  assert.equal(ranks.subscriber(hurt, stuck), kSubscriber);
  assert.ok(ranks.subscriber(hurt, stuck) < ranks.subscriber(hurt, well));
  // A single dead bus is not in a group: its row comes before the healthy ones.
  const single = new RowRanks(lines_for(dead[0], healthy));
  assert.equal(single.bus(dead[0]), kGone);
  assert.ok(single.bus(dead[0]) < single.bus(healthy));
});

test("the key of a problem is of one process", () => {
  const key = more => problems_of(bus(more))[0].key;
  const gone = pid => key({state: "gone", ring: {journal: "good", publisher_pid: pid}});
  assert.notEqual(gone(1), gone(2));
  const lost = more => key({subscribers: [subscriber({lost: 1, ...more})]});
  assert.equal(lost({lag: 5}), lost({lag: 6, lost: 2}));
  assert.notEqual(lost({}), lost({connected_ns: 2}));
});
