// All buses, all subscribers with the worst first, and the newest events.
import {draw_spark, kSparkHeight, kSparkWidth} from "./charts.js";
import {element, number_column, panel, set_text, Table, text_column} from "./dom.js";
import {event_rows, kEventColumns} from "./events_view.js";
import {count_text, duration_text} from "./numbers.js";
import {behind_head} from "./readings.js";
import {bus_name, is_bad_bus, is_bad_journal, is_bad_subscriber, subscriber_key, subscriber_labels} from "./verdict.js";

const kEventsShown = 8;

export function bus_link(directory, instrument = null) {
  const parameters = new URLSearchParams({bus: directory});
  if (instrument !== null) parameters.set("instrument", instrument);
  return `#${parameters}`;
}

// A number that is bad if it is not zero.
export function bad_count(value) {
  return {text: count_text(value), class: value > 0 ? "bad" : value === 0 ? "zero" : ""};
}
export function quiet_count(value) {
  return {text: count_text(value), class: value === 0 ? "zero" : ""};
}

export function delay_text(subscriber) {
  if (!subscriber.delay_seconds) return "0";
  return (subscriber.delay_is_longer ? "> " : "") + duration_text(subscriber.delay_seconds * 1e9);
}
export function p99_text(subscriber) {
  return subscriber.latency?.count ? duration_text(subscriber.latency.p99_ns) : "–";
}
export function subscriber_state(subscriber) {
  return subscriber.stopped ?
      {text: "STOPPED", class: "bad"} :
      {text: subscriber.state, class: subscriber.state === "stopped" ? "bad" : ""};
}
// The lag as a share of the ring: at 100 % the next records are overwritten before they are read.
export function ring_share_text(subscriber, bus) {
  return bus.capacity ? `${Math.min(100, Math.floor(subscriber.lag / bus.capacity * 100))} %` : "–";
}

function worst(subscribers, key) {
  return (subscribers ?? [])
      .reduce((most, s) => (most === null || s[key] > most[key] ? s : most), null);
}

export class BusesView {
  constructor() {
    this.sparks = new Map();
    const buses = panel("Buses");
    this.buses_note = buses.note;
    this.buses = new Table("Buses", [
      text_column("bus"), text_column("state"), number_column("records/s"),
      {title: "rate", class: "spark"}, number_column("head"),
      number_column("archived", null, "few"), number_column("durable", null, "few"),
      number_column("unarchived", "records by which the journal's files are behind head"),
      number_column("undurable", "records by which what survives a power cut is behind head"),
      number_column("subs", "subscribers"), number_column("worst lag"),
      number_column("worst delay"),
      number_column("gaps", "of all subscribers of the session, those that are gone included"),
      number_column("lost", "of all subscribers of the session, those that are gone included"),
      text_column("journal")
    ]);
    buses.root.append(this.buses.root);
    const subscribers = panel("Subscribers, the worst first");
    this.subscribers = new Table("Subscribers, the worst first", [
      text_column("subscriber"), text_column("bus"), text_column("state"), number_column("lag"),
      number_column("of ring", "at 100 % the next records are overwritten before they are read"),
      number_column("lag/s"), number_column("delay"), number_column("lost"), number_column("gaps"),
      number_column("filled"), number_column("p99", "of the ages that it measures"),
      number_column("position", null, "few"), number_column("pid", null, "few")
    ]);
    subscribers.root.append(this.subscribers.root);
    const events = panel("Newest events");
    this.events = new Table("Newest events", kEventColumns, {class: "events"});
    events.root.append(this.events.root);
    this.events_root = events.root;
    this.nodes = [buses.root, subscribers.root, events.root];
  }

  show(readings, window_ms) {
    const {buses} = readings.newest;
    const to_ms = readings.time_ms();
    set_text(this.buses_note, left_out_text(readings.newest));
    for (const key of this.sparks.keys())
      if (!readings.series.has(key)) this.sparks.delete(key);
    this.buses.show(buses.map(bus => this.bus_row(bus, readings, to_ms - window_ms, to_ms)));
    const all = buses.flatMap(bus => {
      const labels = subscriber_labels(bus.subscribers ?? []);
      return (bus.subscribers ?? [])
          .map(subscriber => ({bus, subscriber, label: labels.get(subscriber_key(subscriber))}));
    });
    all.sort(
        (a, b) => is_bad_subscriber(b.subscriber) - is_bad_subscriber(a.subscriber) ||
            b.subscriber.lag - a.subscriber.lag || a.label.localeCompare(b.label));
    this.subscribers.show(
        all.map(({bus, subscriber, label}) => ({
                  key: `${bus.directory}/${subscriber_key(subscriber)}`,
                  class: is_bad_subscriber(subscriber) ? "needs_a_person" : "",
                  cells: [
                    label, {text: bus_name(bus), href: bus_link(bus.directory)},
                    subscriber_state(subscriber), quiet_count(subscriber.lag),
                    ring_share_text(subscriber, bus), count_text(subscriber.lag_rate),
                    delay_text(subscriber), bad_count(subscriber.lost),
                    quiet_count(subscriber.gaps), quiet_count(subscriber.filled),
                    p99_text(subscriber), count_text(subscriber.position), String(subscriber.pid)
                  ]
                })));
    this.events_root.hidden = !buses.some(bus => bus.events);
    this.events.show(event_rows(readings.newest).slice(0, kEventsShown));
  }

  bus_row(bus, readings, from_ms, to_ms) {
    const {ring} = bus;
    if (!this.sparks.has(bus.directory)) {
      this.sparks.set(bus.directory, element("canvas", {
                        class: "spark",
                        role: "img",
                        "aria-label": "rate over time",
                        width: kSparkWidth,
                        height: kSparkHeight
                      }));
    }
    const spark = this.sparks.get(bus.directory);
    draw_spark(
        spark, readings.series.get(bus.directory).bus.rows(["rate"], from_ms, kSparkWidth), from_ms,
        to_ms);
    const lag = worst(bus.subscribers, "lag");
    const delay = worst(bus.subscribers, "delay_seconds");
    return {
      key: bus.directory,
      class: is_bad_bus(bus) ? "needs_a_person" : "",
      cells: [
        {text: bus_name(bus), href: bus_link(bus.directory)},
        {text: bus.state, class: bus.state === "running" || bus.state === "closed" ? "" : "bad"},
        ring ? count_text(bus.rate) : "–", spark, count_text(ring?.head),
        count_text(ring?.archived), count_text(ring?.durable),
        quiet_count(behind_head(bus, ring?.archived)), quiet_count(behind_head(bus, ring?.durable)),
        count_text(bus.subscribers?.length ?? null), quiet_count(lag ? lag.lag : null),
        delay ? delay_text(delay) : "–", quiet_count(ring?.counters?.gaps ?? null),
        bad_count(ring?.counters?.lost ?? null),
        {text: ring?.journal ?? "–", class: is_bad_journal(bus) ? "bad" : ""}
      ]
    };
  }

  destroy() {}
}

function left_out_text(reading) {
  const parts = [];
  if (reading.not_permitted) parts.push(`${count_text(reading.not_permitted)} may not be read`);
  if (reading.not_trusted)
    parts.push(
        `${count_text(reading.not_trusted)} not believed: another user could have written them`);
  if (reading.beyond_limit) parts.push(`${count_text(reading.beyond_limit)} beyond the limit`);
  return parts.length ? `Announcements left out: ${parts.join("; ")}` : "";
}
