// The history of one bus: its rate, and its subscribers' lag, delay and ages.
//
// Pure: no document.
import {HeatMap} from "./histogram.js";
import {History, median_step, merged} from "./series.js";
import {is_missing, subscriber_key} from "./subscribers.js";

const kHeatMapsMax = 16;  // of one bus; subscribers that measure ages are few

// The number of records between a sequence and the head; null without a journal.
export function behind_head(bus, sequence) {
  if (!bus.ring || bus.ring.journal === "none") return null;
  return Math.max(0, bus.ring.head - sequence);
}

export class BusSeries {
  constructor() {
    this.bus = new History();    // rate, unarchived, undurable, stalls_ms
    this.lag = new History();    // by subscriber
    this.delay = new History();  // by subscriber, seconds
    this.heat = new Map();       // by subscriber
    this.colours = new Map();    // by subscriber: the number of its colour, as long as it exists
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
    // A missing subscriber has no current lag, only its last known one.
    const attached = subscribers.filter(s => !is_missing(s));
    this.lag.push(time_ms, new Map(attached.map(s => [subscriber_key(s), s.lag])));
    this.delay.push(time_ms, new Map(attached.map(s => [subscriber_key(s), s.delay_seconds])));
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

  // Milliseconds per second that publishing waited; NaN if a new publisher counts from 0.
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

  // Inserts the server's history (api/v1/history) before the values measured here.
  merge(history) {
    const {times_ms} = history;
    const of_bus = new Map(
        ["rate", "unarchived", "undurable", "stalls_ms"].map(key => [key, history[key] ?? []]));
    const by_subscriber = name =>
        new Map((history.subscribers ?? []).map(one => [subscriber_key(one), one[name] ?? []]));
    this.bus = merged(this.bus, {times_ms, columns: of_bus});
    this.lag = merged(this.lag, {times_ms, columns: by_subscriber("lag")});
    this.delay = merged(this.delay, {times_ms, columns: by_subscriber("delay_seconds")});
    const step_ms = median_step(times_ms);
    for (const one of history.subscribers ?? []) {
      const {heat} = one;
      const key = subscriber_key(one);
      // Only for existing subscribers.
      if (!heat?.length || !this.colours.has(key)) continue;
      if (!this.heat.has(key) && this.heat.size < kHeatMapsMax) this.heat.set(key, new HeatMap());
      this.heat.get(key)?.merge(
          heat.filter(([index]) => times_ms[index] !== undefined)
              .map(([index, buckets]) => ({time_ms: times_ms[index], buckets})),
          step_ms);
    }
  }
}
