// Acknowledging and muting.
import assert from "node:assert/strict";
import test from "node:test";

import {problems_of} from "./problems.js";
import {kHourMs, Quiet} from "./quiet.js";
import {quiet_items, quiet_summary} from "./quiet_list.js";
import {Settings} from "./storage.js";
import {bus, gone_bus, subscriber} from "./test_readings.js";

class Page {
  constructor(settings = new Settings(null), machine = "desk7") {
    this.settings = settings;
    this.quiet = new Quiet(settings, machine);
    this.now_ms = 1_000_000;
  }

  // Returns the texts of the problems that are neither acknowledged nor muted.
  read(...buses) {
    this.problems = buses.flatMap(problems_of);
    this.quiet.update({buses}, this.problems, this.now_ms);
    this.parts = this.quiet.split(this.problems);
    return this.parts.loud.map(({text}) => text);
  }
}
const with_subscriber = more => bus({subscribers: [subscriber(more)]});

test("an acknowledged problem is quiet until it ends and begins again", () => {
  const page = new Page();
  const stopped = with_subscriber({stopped: true});
  assert.equal(page.read(stopped).length, 1);
  page.quiet.acknowledge(page.problems);
  assert.deepEqual(page.read(stopped), []);
  assert.equal(page.parts.acknowledged.length, 1);
  assert.deepEqual(page.read(with_subscriber({})), []);
  assert.equal(page.read(stopped).length, 1, "it has begun again");
});

test("an acknowledged problem comes back when it gets worse", () => {
  const page = new Page();
  page.read(with_subscriber({lost: 5}));
  page.quiet.acknowledge(page.problems);
  assert.deepEqual(page.read(with_subscriber({lost: 5})), []);
  assert.equal(page.read(with_subscriber({lost: 6})).length, 1);

  page.read(with_subscriber({far_behind: true, delay_seconds: 6}));
  page.quiet.acknowledge(page.problems);
  assert.deepEqual(page.read(with_subscriber({far_behind: true, delay_seconds: 50})), []);
  assert.equal(page.read(with_subscriber({far_behind: true, delay_seconds: 70})).length, 1);
  page.quiet.acknowledge(page.problems);
  assert.deepEqual(page.read(with_subscriber({far_behind: true, delay_seconds: 80})), []);
  assert.equal(
      page.read(with_subscriber({far_behind: true, delay_seconds: 80, silent: true})).length, 1);
});

test("another process with the same trouble is another problem", () => {
  const page = new Page();
  page.read(gone_bus("es", 5));
  page.quiet.acknowledge(page.problems);
  const again = gone_bus("es", 1);
  again.ring.publisher_pid = 77;
  assert.equal(page.read(again).length, 1);
});

test("an acknowledged problem does not end while it cannot be seen", () => {
  const page = new Page();
  const lost = with_subscriber({lost: 5});
  page.read(lost);
  page.quiet.acknowledge(page.problems);
  page.read(bus({subscribers: null, subscribers_why: "no answer"}));
  page.read();
  assert.deepEqual(page.read(lost), []);
});

test("a muted subscriber is quiet for its time, whatever becomes of it", () => {
  const page = new Page();
  page.read(with_subscriber({stopped: true}));
  page.quiet.mute(page.problems, 1, page.now_ms);
  assert.deepEqual(page.read(with_subscriber({lost: 9, state: "stopped"})), []);
  assert.deepEqual(page.read(with_subscriber({lost: 9, pid: 8, connected_ns: 2})), []);
  assert.equal(page.parts.muted.length, 1);
  assert.equal(
      page.read(bus({subscribers: [subscriber({name: "other", lost: 1})]})).length, 1,
      "another subscriber is not muted");
  page.now_ms += kHourMs - 1;
  assert.deepEqual(page.read(with_subscriber({lost: 9})), []);
  page.now_ms += 1;
  assert.equal(page.read(with_subscriber({lost: 9})).length, 1);
});

test("muting a bus mutes its subscribers, and no other bus", () => {
  const page = new Page();
  page.read(bus({state: "silent"}));
  page.quiet.mute(page.problems, null, page.now_ms);
  page.now_ms += 1000 * kHourMs;
  assert.deepEqual(page.read(with_subscriber({lost: 9})), []);
  assert.equal(page.read(bus({directory: "/other", state: "silent"})).length, 1);
  page.quiet.unmute([...page.quiet.muted.keys()][0]);
  assert.equal(page.read(with_subscriber({lost: 9})).length, 1);
});

test("of two subscribers with one name, one can be muted", () => {
  const page = new Page();
  const two = bus({subscribers: [subscriber({lost: 1}), subscriber({pid: 8, lost: 1})]});
  page.read(two);
  page.quiet.mute([page.problems[0]], null, page.now_ms);
  assert.deepEqual(page.read(two), ["logger (8) on es has lost 1 record."]);
});

test("it is kept by machine, and read again", () => {
  const settings = new Settings(null);
  const first = new Page(settings);
  first.read(with_subscriber({lost: 1}), gone_bus("old", 9));
  first.quiet.acknowledge([first.problems[0]]);
  first.quiet.mute([first.problems[1]], 8, first.now_ms);
  const reading = [with_subscriber({lost: 1}), gone_bus("old", 9)];
  assert.deepEqual(new Page(settings).read(...reading), []);
  assert.equal(new Page(settings, "desk8").read(...reading).length, 2);
});

test("what is stored and makes no sense is left out", () => {
  const settings = new Settings(null);
  for (const value of [7, "x", [], {acknowledged: 5, muted: {}}, {
         acknowledged: [["k"], ["k", null], ["k", {level: "1"}]],
         muted: [[1, {}], ["k", {text: 5}]]
       }]) {
    settings.set("quiet desk7", value);
    const {quiet} = new Page(settings);
    assert.equal(quiet.acknowledged.size + quiet.muted.size, 0, JSON.stringify(value));
  }
});

test("it does not grow without end", () => {
  const page = new Page();
  for (let i = 0; i < 300; ++i) {
    page.read(with_subscriber({name: `guest ${i}`, connected_ns: i, lost: 1}));
    page.quiet.mute(page.problems, null, page.now_ms);
    page.quiet.acknowledge(page.problems);
  }
  assert.ok(page.quiet.acknowledged.size <= 256);
  assert.ok(page.quiet.muted.size <= 256);
});

test("the quiet line counts, and its list has an undo for each", () => {
  const page = new Page();
  page.read(with_subscriber({lost: 1}), gone_bus("old", 9));
  page.quiet.acknowledge([page.problems[0]]);
  page.quiet.mute([page.problems[1]], 1, Date.parse("2026-11-27T16:31:00Z"));
  page.now_ms = Date.parse("2026-11-27T16:32:00Z");
  page.read(with_subscriber({lost: 1}), gone_bus("old", 9));
  assert.equal(quiet_summary(page.parts, page.quiet.muted), "1 acknowledged, 1 muted (1 problem)");
  const items = quiet_items(page.parts, page.quiet.muted);
  assert.deepEqual(
      items.map(({text, undo}) => `${undo}: ${text}`),
      ["Undo: logger on es has lost 1 record.", "Unmute: old: muted until 17:31 UTC"]);
  page.quiet.undo_acknowledge([items[0].problem]);
  page.quiet.unmute(items[1].subject);
  assert.equal(page.read(with_subscriber({lost: 1}), gone_bus("old", 9)).length, 2);
  assert.equal(quiet_summary(page.parts, page.quiet.muted), "");
});
