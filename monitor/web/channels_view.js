// Channels: both sides and both directions of each, and who waits.
import {quiet_count} from "./buses_view.js";
import {panel, set_text, Table} from "./dom.js";
import {count_text, duration_text} from "./numbers.js";

const kSides = ["A", "B"];

export class ChannelsView {
  constructor() {
    const shell = panel("Channels");
    this.note = shell.note;
    this.table = new Table("Channels", [
      {title: "channel"}, {title: "age", class: "number"}, {title: "sender"}, {title: "receiver"},
      {title: "state"}, {title: "sent", class: "number"}, {title: "in flight", class: "number"},
      {title: "bytes in flight", class: "number"}, {title: "of capacity", class: "number"},
      {title: "full waits", class: "number", help: "the sender waited for room"},
      {title: "empty waits", class: "number", help: "the receiver waited for a message"}
    ]);
    shell.root.append(this.table.root);
    this.nodes = [shell.root];
  }

  show(readings) {
    const list = readings.newest.channels?.channels ?? [];
    set_text(this.note, list.length ? "" : "none");
    this.table.show(list.flatMap(channel => channel.directions.map(direction => {
      const sender = channel.sides[direction.sender];
      const receiver = direction.receiver === undefined ? null : channel.sides[direction.receiver];
      const stopped = [sender, receiver].find(side => side?.stopped);
      const bytes = direction.frame_bytes_in_flight;
      return {
        key: `${channel.connection}/${direction.sender}`,
        class: stopped ? "needs_a_person" : "",
        cells: [
          channel.path, duration_text(channel.age_seconds * 1e9),
          side_text(sender, direction.sender), side_text(receiver, 1 - direction.sender),
          stopped ? {text: "STOPPED", class: "bad"} : sender?.state ?? "–",
          count_text(direction.messages_sent), quiet_count(direction.messages_in_flight ?? null),
          quiet_count(bytes ?? null),
          bytes === undefined ? "–" : `${Math.floor(bytes / direction.capacity * 100)} %`,
          quiet_count(sender?.full_waits ?? null), quiet_count(receiver?.empty_waits ?? null)
        ]
      };
    })));
  }

  destroy() {}
}

function side_text(side, index) {
  return side ? `${side.name || kSides[index]} (${side.pid})` : "nobody";
}
