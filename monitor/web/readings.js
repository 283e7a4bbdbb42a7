// What the page keeps of the stream of readings: the newest one, and per bus what it has measured.
//
// Pure: no document.
import {HeatMap} from "./histogram.js";
import {History} from "./series.js";
import {subscriber_key} from "./verdict.js";

const kHeatMapsMax = 16;  // of one bus; subscribers that measure ages are few

class BusSeries {
  constructor() {
    this.bus = new History();    // rate, unarchived, undurable, stalls_ms
    this.lag = new History();    // by subscriber
    this.delay = new History();  // by subscriber, seconds
    this.heat = new Map();       // by subscriber
    this.colours = new Map();    // by subscriber: the number of its colour, while it is there
    this.stalls = null;          // {time_ms, sum_ns} of the last reading
  }

  add(time_ms, bus) {
    const subscribers = bus.subscribers ?? [];
    this.bus.push(time_ms, {
      rate: bus.ring ? bus.rate : NaN,
      unarchived: bus.ring ? behind_head(bus, bus.ring.archived) ?? NaN : NaN,
      undurable: bus.ring ? behind_head(bus, bus.ring.durable) ?? NaN : NaN,
      stalls_ms: this.stall_rate(time_ms, bus.ring?.counters?.stalls)
    });
    this.lag.push(time_ms, new Map(subscribers.map(s => [subscriber_key(s), s.lag])));
    this.delay.push(time_ms, new Map(subscribers.map(s => [subscriber_key(s), s.delay_seconds])));
    const keys = new Set(subscribers.map(subscriber_key));
    for (const key of this.colours.keys())
      if (!keys.has(key)) this.colours.delete(key);
    for (const key of this.heat.keys())
      if (!keys.has(key)) this.heat.delete(key);
    const used = new Set(this.colours.values());
    for (const subscriber of subscribers) {
      const key = subscriber_key(subscriber);
      if (!this.colours.has(key)) {
        let colour = 0;
        while (used.has(colour)) ++colour;
        used.add(colour);
        this.colours.set(key, colour);
      }
      if (!subscriber.latency?.buckets) continue;
      if (!this.heat.has(key) && this.heat.size < kHeatMapsMax) this.heat.set(key, new HeatMap());
      this.heat.get(key)?.add(time_ms, subscriber.latency.buckets);
    }
  }

  // Milliseconds a second for which publishing waited; NaN where a new publisher counts from 0.
  stall_rate(time_ms, stalls) {
    const before = this.stalls;
    this.stalls = stalls ? {time_ms, sum_ns: stalls.sum_ns} : null;
    if (!stalls || !before || time_ms <= before.time_ms) return NaN;
    const more_ns = stalls.sum_ns - before.sum_ns;
    return more_ns >= 0 ? more_ns / 1e6 / ((time_ms - before.time_ms) / 1e3) : NaN;
  }

  break_lines(time_ms) {
    for (const history of [this.bus, this.lag, this.delay]) history.break_lines(time_ms);
    this.stalls = null;
    for (const map of this.heat.values()) map.older = null;
  }
}

// Records by which something is behind head; null without a journal.
export function behind_head(bus, sequence) {
  if (!bus.ring || bus.ring.journal === "none") return null;
  return Math.max(0, bus.ring.head - sequence);
}

export class Readings {
  constructor() {
    this.newest = null;
    this.arrived_ms = 0;
    this.interval_ms = 0;  // between the last two
    this.count = 0;
    this.series = new Map();  // by directory
  }

  // Returns whether the page is of another version of the server than this reading.
  take(reading, now_ms) {
    const time_ms = Date.parse(reading.time);
    const before = this.newest;
    if (before) {
      this.interval_ms = Math.max(0, time_ms - Date.parse(before.time));
    }
    this.newest = reading;
    this.arrived_ms = now_ms;
    ++this.count;
    const directories = new Set(reading.buses.map(bus => bus.directory));
    for (const directory of this.series.keys()) {
      if (!directories.has(directory)) this.series.delete(directory);
    }
    for (const bus of reading.buses) {
      if (!this.series.has(bus.directory)) this.series.set(bus.directory, new BusSeries());
      this.series.get(bus.directory).add(time_ms, bus);
    }
    return before !== null &&
        (before.version !== reading.version || before.revision !== reading.revision);
  }

  // The page has slept, or was not connected.
  break_lines() {
    if (!this.newest) return;
    const time_ms = Date.parse(this.newest.time) + 1;
    for (const series of this.series.values()) series.break_lines(time_ms);
  }

  bus(directory) {
    return this.newest?.buses.find(bus => bus.directory === directory) ?? null;
  }

  time_ms() {
    return this.newest ? Date.parse(this.newest.time) : Date.now();
  }
}
