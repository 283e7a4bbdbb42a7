// Problems that an operator has acknowledged, and subjects that are muted, by machine.
//
// An acknowledged problem stays quiet until it ends or gets worse. A muted subject, a bus with its
// subscribers or one subscriber, stays quiet until a time, or until it is unmuted.
//
// Pure: no document. `storage` has get(name) and set(name, value) of JSON values.

const kAcknowledgedMax = 256;
const kMutedMax = 256;
export const kHourMs = 3_600_000;

export class Quiet {
  constructor(storage, machine) {
    this.storage = storage;
    this.name = `quiet ${machine}`;
    this.acknowledged = new Map();  // problem's key -> {level, bus, of_subscriber}
    this.muted = new Map();         // subject's key -> {text, until_ms or null}
    this.load();
  }

  // Another tab may have stored a newer state.
  load() {
    const stored = this.storage.get(this.name) ?? {};
    this.acknowledged = new Map(entries_in(
        stored.acknowledged, ({level, bus}) => is_number(level) && typeof bus === "string"));
    this.muted = new Map(entries_in(
        stored.muted,
        ({text, until_ms}) =>
            typeof text === "string" && (until_ms === null || is_number(until_ms))));
  }

  save() {
    trim(this.acknowledged, kAcknowledgedMax);
    trim(this.muted, kMutedMax);
    this.storage.set(this.name, {acknowledged: [...this.acknowledged], muted: [...this.muted]});
  }

  acknowledge(problems) {
    for (const {key, level, bus, subscriber} of problems) {
      this.acknowledged.delete(key);  // the newest is the last
      this.acknowledged.set(key, {level, bus, of_subscriber: subscriber !== null});
    }
    this.save();
  }
  undo_acknowledge(problems) {
    for (const {key} of problems) this.acknowledged.delete(key);
    this.save();
  }

  // `hours` null: until it is unmuted.
  mute(problems, hours, now_ms) {
    const until_ms = hours === null ? null : now_ms + hours * kHourMs;
    for (const {subject} of problems) this.muted.set(subject.key, {text: subject.text, until_ms});
    this.save();
  }
  unmute(subject_key) {
    this.muted.delete(subject_key);
    this.save();
  }

  // Removes entries that have ended by this reading. A problem whose state is unknown has not
  // ended.
  update(reading, problems, now_ms) {
    const present = new Map(problems.map(problem => [problem.key, problem]));
    const buses = new Map(reading.buses.map(bus => [bus.directory, bus]));
    let is_changed = false;
    for (const [key, entry] of this.acknowledged) {
      const problem = present.get(key);
      if (problem ? problem.level > entry.level : is_over(entry, buses)) {
        this.acknowledged.delete(key);
        is_changed = true;
      }
    }
    for (const [key, {until_ms}] of this.muted) {
      if (until_ms === null || until_ms > now_ms) continue;
      this.muted.delete(key);
      is_changed = true;
    }
    if (is_changed) this.save();
  }

  // {loud, acknowledged, muted}: each problem is in one of them.
  split(problems) {
    const parts = {loud: [], acknowledged: [], muted: []};
    for (const problem of problems) {
      const subjects = [problem.subject.key, ...problem.wider];
      if (subjects.some(key => this.muted.has(key)))
        parts.muted.push(problem);
      else if (this.acknowledged.has(problem.key))
        parts.acknowledged.push(problem);
      else
        parts.loud.push(problem);
    }
    return parts;
  }
}

// Whether an unreported problem has ended. It has if its bus is reported and, for a subscriber's
// problem, if the bus's subscribers are reported too.
function is_over({bus: directory, of_subscriber}, buses) {
  const bus = buses.get(directory);
  return bus !== undefined && (!of_subscriber || Array.isArray(bus.subscribers));
}

function is_number(value) {
  return typeof value === "number" && Number.isFinite(value);
}
function entries_in(list, is_valid) {
  return (Array.isArray(list) ? list : [])
      .filter(
          entry => Array.isArray(entry) && typeof entry[0] === "string" &&
              typeof entry[1] === "object" && entry[1] !== null && is_valid(entry[1]));
}
function trim(map, limit) {
  for (const key of map.keys()) {
    if (map.size <= limit) return;
    map.delete(key);
  }
}
