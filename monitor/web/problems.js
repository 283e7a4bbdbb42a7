// Problems of buses and subscribers: how severe each is, and their order.
//
// A problem is
//   {key, kind, severity, level, bus: its directory, subscriber: its key or null,
//    subject: {key, text}, wider: keys of subjects that contain it, text}
// `key` changes if it concerns another process. `level` grows when the problem gets worse.
// The text contains no number that changes all the time, because screen readers read each change.
//
// Pure: no document.
import {bus_name, compare_names} from "./bus_names.js";
import {process_text} from "./cells.js";
import {clock_text, count_text} from "./numbers.js";
import {is_missing, subscriber_key, subscriber_labels} from "./subscribers.js";

// The most severe first. `kGone`: a publisher that ended more than a minute ago.
export const kLost = 0;
export const kPublisher = 1;
export const kSubscriber = 2;
export const kBehind = 3;
export const kUnknown = 4;
export const kGone = 5;
// Only used as row ranks.
const kQuiet = 6;
const kHealthy = 7;
const kLast = 8;

const kRecentMs = 60_000;
const kSingleMax = 2;  // more buses without a publisher share one line
const kNamesMax = 3;
const kDelaySteps = [60, 600, 3600];  // seconds; beyond each the delay is worse

export function is_bad_subscriber(subscriber) {
  if (subscriber.observes) return false;
  return Boolean(
      is_missing(subscriber) || subscriber.stopped || subscriber.state === "stopped" ||
      subscriber.far_behind || subscriber.silent || subscriber.lost > 0);
}
export function is_bad_journal(bus) {
  return ["failed", "shed"].includes(bus.ring?.journal);
}
// The publisher runs but could not be queried.
function is_unanswered(bus) {
  return bus.subscribers === null && bus.state === "running";
}
export function is_bad_bus(bus) {
  return !["running", "closed"].includes(bus.state) || is_unanswered(bus) || is_bad_journal(bus);
}
const kBadEvents = ["loss", "journal-failed", "journal-shed", "killed", "missing"];
export function is_bad_event(event) {
  return kBadEvents.includes(event.event) || event.lost > 0;
}

export function bus_subject(directory) {
  return `bus ${directory}`;
}

function publisher_problem(bus) {
  const name = bus_name(bus);
  switch (bus.state) {
    case "running":
    case "closed":
      return null;
    case "gone": {
      const age_ms = bus.ring?.heartbeat_age_ms;
      return {
        kind: "gone",
        severity: age_ms < kRecentMs ? kPublisher : kGone,
        age_ms: age_ms ?? Infinity,
        text: `${name}: the publisher ended without closing the bus. ` +
            "Start it again to continue the bus."
      };
    }
    case "stopped":
      return {
        kind: "publisher-stopped",
        severity: kPublisher,
        text: `${name}: the publisher's process is stopped, by a signal or a debugger.`
      };
    case "silent":
      return {
        kind: "publisher-silent",
        severity: kPublisher,
        text: `${name}: the publisher has not renewed its heartbeat for more than 3 s.`
      };
    default:
      return {
        kind: "unreadable",
        severity: kUnknown,
        text: `${name}: ${bus.ring_why || bus.state}`
      };
  }
}

function bus_problems(bus) {
  const name = bus_name(bus);
  const found = [publisher_problem(bus)];
  if (is_bad_journal(bus)) {
    const what = bus.ring.journal === "shed" ? "journaling was stopped" : "the journal has failed";
    found.push({
      kind: "journal",
      severity: bus.state === "gone" ? kGone : kLost,
      text: `${name}: ${what}. ` +
          "Records that are overwritten before a subscriber reads them are now lost."
    });
  }
  if (is_unanswered(bus)) {
    found.push({
      kind: "publisher-unanswered",
      severity: kPublisher,
      text: `${name}: its subscribers are unknown: ${bus.subscribers_why}`
    });
  }
  const subject = {key: bus_subject(bus.directory), text: name};
  return found.filter(problem => problem)
      .map(problem => ({
             level: 0,
             ...problem,
             key: `${problem.kind} ${bus.directory} ${bus.ring?.publisher_pid ?? ""}`,
             bus: bus.directory,
             subscriber: null,
             subject,
             wider: []
           }));
}

function capital(text) {
  return text[0].toUpperCase() + text.slice(1);
}

// The action that makes it attach again, depending on its process's state.
const kReturns = {
  running: "Restart it",
  stopped: "Resume it"
};

function missing_text(label, subscriber) {
  const since =
      subscriber.missing_since ? ` since ${clock_text(subscriber.missing_since)} UTC` : "";
  const process = process_text(subscriber);
  const returns = kReturns[subscriber.process] ?? "Start it again";
  return `${label} has been missing${since}: it has not returned after the publisher restarted.` +
      (process ? ` ${capital(process)}.` : "") +
      ` ${returns}, or run \`lapwing subscribers --bus DIR --forget NAME\`.`;
}

// At most two problems: lost records, and the worst problem that keeps it from reading.
function subscriber_problems(subscriber, label) {
  const found = [];
  if (subscriber.lost > 0) {
    found.push({
      kind: "lost",
      severity: kLost,
      level: subscriber.lost,
      text: `${label} has lost ${count_text(subscriber.lost)} ` +
          `${subscriber.lost === 1 ? "record" : "records"}.`
    });
  }
  if (is_missing(subscriber)) {
    found.push(
        {kind: "missing", severity: kSubscriber, level: 0, text: missing_text(label, subscriber)});
  } else if (subscriber.stopped) {
    found.push({
      kind: "process-stopped",
      severity: kSubscriber,
      level: 0,
      text: `${label}: its process is stopped, by a signal or a debugger.`
    });
  } else if (subscriber.state === "stopped") {
    found.push(
        {kind: "ended", severity: kSubscriber, level: 0, text: `${label} has ended at a gap.`});
  } else if (subscriber.far_behind || subscriber.silent) {
    const behind = subscriber.far_behind ? "more than 5 s behind" : "behind";
    const silent = subscriber.silent ? " and has not reported for more than 3 s" : "";
    const steps = kDelaySteps.filter(step => subscriber.delay_seconds > step).length;
    found.push({
      kind: "behind",
      severity: kBehind,
      level: steps + (subscriber.silent ? kDelaySteps.length + 1 : 0),
      text: `${label} is ${behind}${silent}.`
    });
  }
  return found;
}

export function problems_of(bus) {
  const name = bus_name(bus);
  const subscribers = (bus.subscribers ?? []).filter(subscriber => !subscriber.observes);
  const labels = subscriber_labels(subscribers);
  return [
    ...bus_problems(bus), ...subscribers.flatMap(subscriber => {
      const key = subscriber_key(subscriber);
      const label = labels.get(key);
      const by_name = `subscriber ${subscriber.name} ${bus.directory}`;
      // A name shared by several subscribers does not identify one of them.
      const is_unique = label === subscriber.name;
      const subject = {
        key: is_unique ? by_name : `${by_name} ${subscriber.pid}`,
        text: `${label} on ${name}`
      };
      return subscriber_problems(subscriber, subject.text)
          .map(problem => ({
                 ...problem,
                 key: `${problem.kind} ${bus.directory} ${key}`,
                 bus: bus.directory,
                 subscriber: key,
                 subject,
                 wider: is_unique ? [bus_subject(bus.directory)] :
                                    [by_name, bus_subject(bus.directory)]
               }));
    })
  ];
}

// Expected subscribers (`--expect`) that are absent. Subscribers whose bus has a problem, or that
// are already listed as missing, are left out.
export function expected_problems(reading) {
  const buses = new Map(reading.buses.map(bus => [bus.directory, bus]));
  return (reading.expected ?? [])
      .filter(
          ({state, directory}) =>
              state === "absent" || (state === "unknown" && !buses.has(directory)))
      .map(({bus: label, directory, subscriber, why}) => {
        const place = directory ?? label;
        return {
          key: `expected ${place} ${subscriber}`,
          kind: "expected",
          severity: kSubscriber,
          level: 0,
          bus: place,
          subscriber: null,
          subject: {key: `subscriber ${subscriber} ${place}`, text: `${subscriber} on ${label}`},
          wider: [bus_subject(place)],
          text: `${subscriber} on ${label} is expected and not attached` +
              (why ? `: ${why}.` : ".")
        };
      });
}

function group_text(members) {
  const names = members.slice(0, kNamesMax).map(({subject}) => subject.text).join(", ");
  const more = members.length - kNamesMax;
  return `${members.length} buses have no publisher: ${names}` +
      (more > 0 ? ` and ${more} more` : "") + ".";
}

// The lines to show, the most severe first: problems, and {key, severity, text, members} for
// buses without a publisher if there are many.
export function lines_of(problems) {
  const gone = problems.filter(({kind}) => kind === "gone").sort((a, b) => a.age_ms - b.age_ms);
  const recent = gone.filter(({severity}) => severity === kPublisher);
  const old = gone.filter(({severity}) => severity === kGone);
  const members = recent.length > kSingleMax ? gone : old.length > kSingleMax ? old : [];
  const lines = problems.filter(problem => !members.includes(problem));
  if (members.length > 0) {
    lines.push({key: "gone", severity: kGone, text: group_text(members), members});
  }
  return lines.sort((a, b) => a.severity - b.severity || compare_names(a.text, b.text));
}

export function line_problems(line) {
  return line.members ?? [line];
}

// Ranks for table rows: bad rows come first, and grouped buses that are merely gone come
// last.
export class RowRanks {
  constructor(lines) {
    this.buses = new Map();
    this.subscribers = new Map();
    for (const line of lines) {
      if (line.members) continue;
      lower(this.buses, line.bus, line.severity);
      if (line.subscriber !== null) {
        lower(this.subscribers, `${line.bus} ${line.subscriber}`, line.severity);
      }
    }
  }

  bus(bus) {
    return this.buses.get(bus.directory) ??
        (bus.state === "gone" ? kLast :
             is_bad_bus(bus)  ? kQuiet :
                                kHealthy);
  }

  subscriber(bus, subscriber) {
    return this.subscribers.get(`${bus.directory} ${subscriber_key(subscriber)}`) ??
        (is_bad_subscriber(subscriber) ? kQuiet : kHealthy);
  }
}

function lower(map, key, value) {
  map.set(key, Math.min(value, map.get(key) ?? Infinity));
}
