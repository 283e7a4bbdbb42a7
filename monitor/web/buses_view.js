// All buses, all subscribers with the worst first, and the newest events.
import {bus_link, bus_name, compare_names} from "./bus_names.js";
import {behind_head} from "./bus_series.js";
import {bad_count, delay_text, kP99Help, kRingShareHelp, p99_text, quiet_count, ring_share_text, subscriber_state} from "./cells.js";
import {draw_spark, kSparkHeight, kSparkWidth} from "./charts.js";
import {element, number_column, panel, set_text, Table, text_column} from "./dom.js";
import {event_rows, kEventColumns} from "./events_view.js";
import {count_text} from "./numbers.js";
import {ObserversBox} from "./observers_box.js";
import {is_bad_bus, is_bad_journal, is_bad_subscriber} from "./problems.js";
import {is_missing, subscriber_key, subscriber_labels, visible_subscribers} from "./subscribers.js";

const kEventsShown = 8;
const kSessionHelp = "for all subscribers of this session, including those that have left";

// Missing subscribers are left out, because their numbers are only the last known ones.
function worst(subscribers, key) {
  return subscribers.filter(subscriber => !is_missing(subscriber))
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
      number_column("unarchived", "records not yet in the journal's files"),
      number_column("undurable", "records that would not survive a power cut"),
      number_column("subs", "subscribers"), number_column("worst lag"),
      number_column("worst delay"), number_column("gaps", kSessionHelp),
      number_column("lost", kSessionHelp), text_column("journal")
    ]);
    buses.root.append(this.buses.root);
    const subscribers = panel("Subscribers, the worst first");
    this.subscribers = new Table("Subscribers, the worst first", [
      text_column("subscriber"), text_column("bus"), text_column("state"), number_column("lag"),
      number_column("of ring", kRingShareHelp), number_column("lag/s"), number_column("delay"),
      number_column("lost"), number_column("gaps"), number_column("filled"),
      number_column("p99", kP99Help), number_column("position", null, "few"),
      number_column("pid", null, "few")
    ]);
    this.observers = new ObserversBox();
    subscribers.heading.after(this.observers.root);
    subscribers.root.append(this.subscribers.root);
    const events = panel("Newest events");
    this.events = new Table("Newest events", kEventColumns, {class: "events"});
    events.root.append(this.events.root);
    this.events_root = events.root;
    this.nodes = [buses.root, subscribers.root, events.root];
  }

  show(context) {
    const {readings, window_ms, ranks, shows_observers} = context;
    const {buses} = readings.newest;
    const to_ms = readings.time_ms();
    set_text(this.buses_note, left_out_text(readings.newest));
    for (const key of this.sparks.keys())
      if (!readings.series.has(key)) this.sparks.delete(key);
    const sorted = [...buses].sort(
        (a, b) => ranks.bus(a) - ranks.bus(b) || compare_names(bus_name(a), bus_name(b)));
    this.buses.show(
        sorted.map(bus => this.bus_row(bus, readings, to_ms - window_ms, to_ms, shows_observers)));
    this.observers.show(buses, context);
    const all = buses.flatMap(bus => {
      const subscribers = visible_subscribers(bus, shows_observers);
      const labels = subscriber_labels(subscribers);
      return subscribers.map(subscriber => ({
                               bus,
                               subscriber,
                               label: labels.get(subscriber_key(subscriber)),
                               rank: ranks.subscriber(bus, subscriber)
                             }));
    });
    all.sort(
        (a, b) => a.rank - b.rank || b.subscriber.lag - a.subscriber.lag ||
            compare_names(a.label, b.label));
    this.subscribers.show(
        all.map(({bus, subscriber, label}) => ({
                  key: `${bus.directory}/${subscriber_key(subscriber)}`,
                  class: is_bad_subscriber(subscriber) ? "is_bad" : "",
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

  bus_row(bus, readings, from_ms, to_ms, shows_observers) {
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
    const subscribers = visible_subscribers(bus, shows_observers);
    const attached = subscribers.filter(subscriber => !is_missing(subscriber));
    const lag = worst(attached, "lag");
    const delay = worst(attached, "delay_seconds");
    return {
      key: bus.directory,
      class: is_bad_bus(bus) ? "is_bad" : "",
      cells: [
        {text: bus_name(bus), href: bus_link(bus.directory)},
        {text: bus.state, class: bus.state === "running" || bus.state === "closed" ? "" : "bad"},
        ring ? count_text(bus.rate) : "–", spark, count_text(ring?.head),
        count_text(ring?.archived), count_text(ring?.durable),
        quiet_count(behind_head(bus, ring?.archived)), quiet_count(behind_head(bus, ring?.durable)),
        count_text(bus.subscribers ? attached.length : null), quiet_count(lag ? lag.lag : null),
        delay ? delay_text(delay) : "–", quiet_count(ring?.counters?.gaps ?? null),
        bad_count(ring?.counters?.lost ?? null),
        {text: ring?.journal ?? "–", class: is_bad_journal(bus) ? "bad" : ""}
      ]
    };
  }

  destroy() {}
}

function left_out_text({not_permitted, not_trusted, beyond_limit}) {
  const number_of = (count, one, many) => `${count_text(count)} ${count === 1 ? one : many}`;
  const parts = [];
  if (not_permitted) {
    const what = number_of(not_permitted, "directory is", "directories are");
    parts.push(`${what} not readable by the server's user`);
  }
  if (not_trusted) {
    const what = number_of(not_trusted, "announcement", "announcements");
    parts.push(`${what} ignored: damaged or possibly written by another user`);
  }
  if (beyond_limit) {
    parts.push(`${number_of(beyond_limit, "announcement", "announcements")} above the limit`);
  }
  return parts.length ? `Buses not shown: ${parts.join("; ")}` : "";
}
