// Table cells: {text, class, title} or a plain text.
//
// Pure: no document.
import {clock_text, count_text, duration_text, kNothing} from "./numbers.js";
import {is_missing} from "./subscribers.js";

// A number that is bad unless it is zero.
export function bad_count(value) {
  return {text: count_text(value), class: value > 0 ? "bad" : value === 0 ? "zero" : ""};
}
export function quiet_count(value) {
  return {text: count_text(value), class: value === 0 ? "zero" : ""};
}

export function delay_text(subscriber) {
  if (subscriber.delay_seconds === null) return kNothing;
  if (!subscriber.delay_seconds) return "0";
  return (subscriber.delay_is_longer ? "> " : "") + duration_text(subscriber.delay_seconds * 1e9);
}

// The last minute's value. An older server sends only the one since the subscriber was opened.
export const kP99Help = "99th percentile of the ages of records in the last minute";
export function p99_text({latency}) {
  const measured = latency?.window === undefined ? latency : latency.window;
  return measured?.count ? duration_text(measured.p99_ns) : kNothing;
}

const kProcesses = {
  running: "its process is running",
  stopped: "its process is stopped",
  ended: "its process has ended"
};
export function process_text(subscriber) {
  return kProcesses[subscriber.process] ?? null;
}

export function subscriber_state(subscriber) {
  const {report_age_seconds: age} = subscriber;
  const title = age === undefined ? null :
      age === null                ? "has never reported" :
                                    `last report ${duration_text(age * 1e9)} ago`;
  if (is_missing(subscriber)) {
    const since = subscriber.missing_since;
    const parts = [since ? `since ${clock_text(since)} UTC` : null, process_text(subscriber)];
    return {text: "missing", class: "bad", title: parts.filter(part => part).join("; ")};
  }
  if (subscriber.stopped) return {text: "STOPPED", class: "bad", title};
  if (subscriber.state === "stopped") return {text: "stopped", class: "bad", title};
  if (subscriber.silent) return {text: "silent", class: "bad", title};
  return {text: subscriber.state, class: "", title};
}

export const kRingShareHelp =
    "lag as % of the ring; at 100 % its next records are overwritten before it reads them";
export function ring_share_text(subscriber, bus) {
  if (!bus.capacity || subscriber.lag === null) return kNothing;
  return `${Math.min(100, Math.floor(subscriber.lag / bus.capacity * 100))} %`;
}
