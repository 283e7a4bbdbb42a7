// Channels: both sides and both directions of each, and their waits. Stopped sides come first.
import {quiet_count} from "./cells.js";
import {number_column, panel, set_text, Table, text_column} from "./dom.js";
import {count_text, duration_text} from "./numbers.js";

export class ChannelsView {
  constructor() {
    const shell = panel("Channels");
    this.note = shell.note;
    this.table = new Table("Channels", [
      text_column("channel"), number_column("age"), text_column("sender"), text_column("receiver"),
      text_column("state"), number_column("sent"), number_column("in flight"),
      number_column("bytes in flight"), number_column("of capacity"),
      number_column("full waits", "the sender waited for room"),
      number_column("empty waits", "the receiver waited for a message")
    ]);
    shell.root.append(this.table.root);
    this.nodes = [shell.root];
  }

  show({readings}) {
    const list = readings.newest.channels ?? [];
    set_text(this.note, note_of(readings.newest));
    const rows = list.flatMap(channel => channel.directions.map(direction => {
      const side_of = pid => channel.sides.find(side => side.pid === pid);
      const sender = side_of(direction.sender);
      const receiver = side_of(direction.receiver);
      const stopped = [sender, receiver].find(side => side?.stopped);
      const bytes = direction.frame_bytes_in_flight;
      return {
        key: `${channel.connection}/${direction.sender}`,
        class: stopped ? "is_bad" : "",
        cells: [
          channel.path, duration_text(channel.age_seconds * 1e9), side_text(sender),
          side_text(receiver), stopped ? {text: "STOPPED", class: "bad"} : sender?.state ?? "–",
          count_text(direction.messages_sent), quiet_count(direction.messages_in_flight ?? null),
          quiet_count(bytes ?? null),
          bytes === undefined ? "–" : `${Math.floor(bytes / direction.capacity * 100)} %`,
          quiet_count(sender?.full_waits ?? null), quiet_count(receiver?.empty_waits ?? null)
        ]
      };
    }));
    this.table.show(rows.sort((a, b) => Boolean(b.class) - Boolean(a.class)));
  }

  destroy() {}
}

function note_of({channels, channels_total, channels_why}) {
  if (channels === null) return channels_why;
  if (channels.length === 0) return "none";
  return channels.length < channels_total ? `${channels.length} of ${channels_total}` : "";
}

function side_text(side) {
  return side ? `${side.name} (${side.pid})`.trim() : "none";
}
