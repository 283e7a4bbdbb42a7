// The events of the buses, newest first.
import {bus_link, bus_name} from "./bus_names.js";
import {element, panel, set_text, Table, text_column} from "./dom.js";
import {is_bad_event} from "./problems.js";

export const kEventColumns = [
  text_column("time (UTC)"), text_column("bus"), text_column("event"),
  {title: "what", class: "wide"}
];

export function event_rows(reading, {bus: directory = null, only_bad = false} = {}) {
  const events = [];
  for (const bus of reading.buses) {
    if (directory !== null && bus.directory !== directory) continue;
    for (const event of bus.events ?? []) {
      if (!only_bad || is_bad_event(event)) events.push({bus, event});
    }
  }
  events.sort(
      (a, b) =>
          (a.event.time < b.event.time     ? 1 :
               a.event.time > b.event.time ? -1 :
                                             b.event.number - a.event.number));
  return events.map(({bus, event}) => ({
                      key: `${bus.directory}/${event.time}/${event.number}`,
                      class: is_bad_event(event) ? "is_bad" : "",
                      cells: [
                        `${event.time.slice(0, 10)} ${event.time.slice(11, 23)}`,
                        {text: bus_name(bus), href: bus_link(bus.directory)},
                        {text: event.event, class: is_bad_event(event) ? "bad" : ""}, event.what
                      ]
                    }));
}

export class EventsView {
  constructor(changed) {
    const shell = panel("Events");
    this.note = shell.note;
    this.only_bad = element("input", {type: "checkbox", id: "only_bad"});
    this.only_bad.addEventListener("change", changed);
    this.table = new Table("Events, the newest first", kEventColumns, {class: "events"});
    shell.root.append(
        element("p", {class: "controls"}, element("label", {}, this.only_bad, " only problems")),
        this.table.root);
    this.nodes = [shell.root];
  }

  show({readings}) {
    const rows = event_rows(readings.newest, {only_bad: this.only_bad.checked});
    this.table.show(rows);
    const knows = readings.newest.buses.some(bus => bus.events);
    set_text(
        this.note,
        !knows ? "this server does not send events; use lapwing events --bus DIR" :
            rows.length ?
                 `${rows.length}, the newest first; a publisher keeps the last 256 of its session` :
                 "none");
  }

  destroy() {}
}
