// What a person should know, as sentences: which buses and subscribers need one, whether what the
// page shows is old, and what the view of a bus is behind.
//
// Pure: no document. Sentences hold no number that changes all the time, for each change of them is
// read out. A problem is {bus, text}; `bus` is the directory of the bus that it is of.
import {clock_text, count_text} from "./numbers.js";

const kStaleMs = 3_000;

export function bus_name(bus) {
  return bus.name || bus.directory;
}

// Names of subscribers are their own choice and may be equal: those get their process besides.
export function subscriber_labels(subscribers) {
  const counts = new Map();
  for (const {name} of subscribers) counts.set(name, (counts.get(name) ?? 0) + 1);
  return new Map(subscribers.map(
      subscriber =>
          [subscriber_key(subscriber),
           counts.get(subscriber.name) > 1 || !subscriber.name ?
               `${subscriber.name || "?"} (${subscriber.pid})` :
               subscriber.name]));
}
export function subscriber_key(subscriber) {
  return `${subscriber.name}/${subscriber.pid}/${subscriber.connected_ns}`;
}

export function is_bad_subscriber(subscriber) {
  if (subscriber.observes) return false;
  return subscriber.stopped || subscriber.state === "stopped" || subscriber.far_behind ||
      subscriber.lost > 0;
}
export function is_bad_journal(bus) {
  return ["failed", "shed"].includes(bus.ring?.journal);
}
export function is_bad_bus(bus) {
  return !["running", "closed"].includes(bus.state) || is_bad_journal(bus);
}
export function is_bad_event(event) {
  return ["loss", "journal-failed", "journal-shed"].includes(event.event) || event.lost > 0;
}

function bus_sentence(bus) {
  const name = bus_name(bus);
  switch (bus.state) {
    case "gone":
      return `${
          name}: the publisher has ended without closing. Nothing is published until the next one starts.`;
    case "stopped":
      return `${name}: the publisher's process is stopped, by a signal or a debugger.`;
    case "silent":
      return `${name}: the publisher has not renewed its heartbeat for more than 3 s.`;
    case "running":
    case "closed":
      return null;
    default:
      return `${name}: ${bus.ring_why || bus.state}`;
  }
}

export function problems_of(bus) {
  const name = bus_name(bus);
  const texts = [bus_sentence(bus)];
  if (is_bad_journal(bus)) {
    texts.push(
        `${name}: the journal ${bus.ring.journal === "shed" ? "was given up" : "has failed"}.` +
        " What is lapped now is lost.");
  }
  if (bus.subscribers === null && bus.state === "running") {
    texts.push(`${name}: its subscribers are not known: ${bus.subscribers_why}`);
  }
  const labels = subscriber_labels(bus.subscribers ?? []);
  for (const subscriber of bus.subscribers ?? []) {
    if (subscriber.observes) continue;
    const label = `${labels.get(subscriber_key(subscriber))} on ${name}`;
    if (subscriber.lost > 0) {
      texts.push(
          `${label} has lost ${count_text(subscriber.lost)} ` +
          `${subscriber.lost === 1 ? "record" : "records"}.`);
    }
    if (subscriber.stopped) {
      texts.push(`${label}: its process is stopped, by a signal or a debugger.`);
    } else if (subscriber.state === "stopped") {
      texts.push(`${label} has ended at a gap.`);
    } else if (subscriber.far_behind) {
      texts.push(`${label} is more than 5 s behind.`);
    }
  }
  return texts.filter(text => text).map(text => ({bus: bus.directory, text}));
}

function number_of(count, one, many = `${one}s`) {
  return `${count_text(count)} ${count === 1 ? one : many}`;
}

// One line: what runs, and who is furthest behind.
export function summary_of(reading) {
  const buses = reading.buses;
  if (buses.length === 0) return "No bus is announced on this machine.";
  const running = buses.filter(bus => bus.state === "running").length;
  let worst = null;
  let subscribers = 0;
  for (const bus of buses) {
    const labels = subscriber_labels(bus.subscribers ?? []);
    for (const subscriber of bus.subscribers ?? []) {
      ++subscribers;
      if (subscriber.lag > (worst?.lag ?? 0)) {
        worst = {lag: subscriber.lag, bus, label: labels.get(subscriber_key(subscriber))};
      }
    }
  }
  const what = `${running} of ${number_of(buses.length, "bus", "buses")} ` +
      `${running === 1 ? "runs" : "run"}, ${number_of(subscribers, "subscriber")}`;
  if (subscribers === 0) return `${what}.`;
  if (!worst) return `${what}, none behind.`;
  return `${what}. Furthest behind: ${worst.label} on ${bus_name(worst.bus)}, ` +
      `${number_of(worst.lag, "record")}.`;
}

// From when on a reading is old: readings come every --interval, which the page has measured.
export function stale_after_ms(interval_ms) {
  return Math.max(kStaleMs, 3 * (interval_ms || 0));
}

// What is wrong with what the page shows, or null. `stream` is of the readings, `reading` the
// newest, which came `age_ms` ago.
export function connection_sentence(stream, reading, age_ms, interval_ms) {
  const old = reading ? ` What stands below is of ${clock_text(reading.time)} UTC.` : "";
  if (stream.state === "asleep") return "Asleep: the page is hidden." + old;
  if (stream.status === 401) {
    return "The server wants another token: it was restarted. Open the address that it has printed." +
        old;
  }
  if (stream.state === "waiting") return "Not connected to the server." + old;
  if (stream.state === "connecting") return "Connecting." + old;
  if (age_ms > stale_after_ms(interval_ms)) {
    return "Connected, but the server sends no new readings." + old;
  }
  return null;
}

// What the server says in a few words, as a sentence.
function sentence_of(why) {
  if (!why) return "";
  return why[0].toUpperCase() + why.slice(1) + (/[.!?]$/.test(why) ? "" : ".");
}

// Of the view of a bus: {text, is_old, is_bad}. `view` is its newest message, if there is one.
export function view_sentence(stream, view, age_ms) {
  const at = view && view.sequence !== null ?
      ` What is shown is as of sequence ${count_text(view.sequence)}.` :
      "";
  const old = text => ({text: text + at, is_old: true, is_bad: false});
  switch (stream.status) {
    case 404:
      return old("The server has no view of this bus.");
    case 403:
      return old("The server's user may not read this bus.");
    case 400:
      return old("This bus has no such instrument.");
    case 503:
      return old(sentence_of(stream.why) || "The server has no view of this bus now.");
  }
  if (stream.state === "waiting" || stream.state === "asleep")
    return old("Not connected to the server.");
  if (!view) return {text: "Reading the bus.", is_old: false, is_bad: false};
  if (stream.state === "connecting") return old("Connecting.");
  if (view.state === "ended") {
    return {...old(`The view has ended. ${sentence_of(view.why)}`.trim()), is_bad: true};
  }
  if (view.state === "waiting") {
    return {...old(sentence_of(view.why) || "The publisher is gone."), is_bad: true};
  }
  if (age_ms > kStaleMs) return old("The server sends no new view.");
  const lost = view.lost > 0 ? ` The view has lost ${number_of(view.lost, "record")}.` : "";
  const behind = number_of(view.behind, "record");
  if (view.state === "joining") {
    return {
      text: `Reading what is kept, ${behind} to go.${lost}`,
      is_old: true,
      is_bad: view.lost > 0
    };
  }
  if (view.state === "filling") {
    return {
      text: `${behind} behind: reading the journal.${lost}`,
      is_old: true,
      is_bad: view.lost > 0
    };
  }
  return {
    text: `Sequence ${count_text(view.sequence)}, ${count_text(view.behind)} behind.${lost}`,
    is_old: false,
    is_bad: view.lost > 0
  };
}
