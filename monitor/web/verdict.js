// The page's sentences: which buses run, whether the shown data is old, and how far a view is
// behind.
//
// Pure: no document.
import {bus_name} from "./bus_names.js";
import {clock_text, count_text} from "./numbers.js";
import {is_missing, subscriber_key, subscriber_labels, visible_subscribers} from "./subscribers.js";

const kStaleMs = 3_000;

function number_of(count, one, many = `${one}s`) {
  return `${count_text(count)} ${count === 1 ? one : many}`;
}

// One line: the running buses, and the subscriber that is furthest behind.
export function summary_of(reading, shows_observers = false) {
  const buses = reading.buses;
  if (buses.length === 0) return "No bus is announced on this machine.";
  const running = buses.filter(bus => bus.state === "running").length;
  let worst = null;
  let attached = 0;
  let missing = 0;
  for (const bus of buses) {
    const subscribers = visible_subscribers(bus, shows_observers);
    const labels = subscriber_labels(subscribers);
    for (const subscriber of subscribers) {
      if (is_missing(subscriber)) {
        ++missing;
        continue;
      }
      ++attached;
      if (subscriber.lag > (worst?.lag ?? 0)) {
        worst = {lag: subscriber.lag, bus, label: labels.get(subscriber_key(subscriber))};
      }
    }
  }
  const what = `${running} of ${number_of(buses.length, "bus", "buses")} ` +
      `${running === 1 ? "runs" : "run"}, ${number_of(attached, "subscriber")}` +
      (missing > 0 ? `, ${count_text(missing)} missing` : "");
  if (attached === 0) return `${what}.`;
  if (!worst) return `${what}, none behind.`;
  return `${what}. Furthest behind: ${worst.label} on ${bus_name(worst.bus)}, ` +
      `by ${number_of(worst.lag, "record")}.`;
}

// A reading older than this is stale. Readings arrive every --interval, which the page
// measures.
export function stale_after_ms(interval_ms) {
  return Math.max(kStaleMs, 3 * (interval_ms || 0));
}

// The problem with the data that the page shows, or null. `stream` is the stream of readings,
// `reading` the newest one, which arrived `age_ms` ago.
export function connection_sentence(stream, reading, age_ms, interval_ms) {
  const old = reading ? ` This page shows the state at ${clock_text(reading.time)} UTC.` : "";
  if (stream.state === "asleep") return "Asleep: the page is hidden." + old;
  if (stream.status === 401) {
    return "The server was restarted and has another token. Open the address that it printed." +
        old;
  }
  if (stream.state === "waiting") return "Not connected to the server." + old;
  if (stream.state === "connecting") return "Connecting." + old;
  if (age_ms > stale_after_ms(interval_ms)) {
    return "Connected, but the server sends no new readings." + old;
  }
  return null;
}

// The server's reason as a sentence.
function sentence_of(why) {
  if (!why) return "";
  return why[0].toUpperCase() + why.slice(1) + (/[.!?]$/.test(why) ? "" : ".");
}

// The state of a bus view: {text, is_old, is_bad}. `view` is its newest message, or null.
export function view_sentence(stream, view, age_ms) {
  const at =
      view && view.sequence !== null ? ` Shown as of sequence ${count_text(view.sequence)}.` : "";
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
      text: `Reading stored records, ${behind} to go.${lost}`,
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
