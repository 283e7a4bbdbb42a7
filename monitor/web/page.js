// The page: one stream of readings, and a view chosen by the address's fragment. Every view starts
// with the problems, and with a note if anything shown is old.
import {bus_link, bus_name, page_title} from "./bus_names.js";
import {BusView} from "./bus_view.js";
import {BusesView} from "./buses_view.js";
import {ChannelsView} from "./channels_view.js";
import {set_text} from "./dom.js";
import {EventsView} from "./events_view.js";
import {HistoryLoader} from "./history_loader.js";
import {clock_text, count_text} from "./numbers.js";
import {ProblemBox} from "./problem_box.js";
import {expected_problems, is_bad_event, lines_of, problems_of, RowRanks} from "./problems.js";
import {Quiet} from "./quiet.js";
import {Readings} from "./readings.js";
import {browser_settings} from "./storage.js";
import {Stream} from "./stream.js";
import * as verdict from "./verdict.js";

const kTickMs = 1_000;  // updates ages
const at = id => document.getElementById(id);

export const readings = new Readings();
const stream = new Stream("api/v1/stream", take_reading, stream_changed);
const histories = new HistoryLoader(readings, changed);
const settings = browser_settings();
let view = null;
let view_hash = null;
let is_due = false;
let was_open = false;
let shows_observers = settings.get("show_observers") === true;
let quiet = null;  // of the machine that sends the readings
let quiet_machine = null;

export function take_reading(text) {
  if (readings.take(JSON.parse(text), performance.now())) location.reload();
  const machine = readings.newest.host ?? location.host;
  if (machine !== quiet_machine) {
    quiet_machine = machine;
    quiet = new Quiet(settings, machine);
  }
  histories.want([...readings.series.keys()], view.directory ?? null);
  changed();
}

function stream_changed() {
  const is_open = stream.state === "open";
  if (is_open && !was_open) {
    readings.break_lines();
    histories.begin();
  }
  was_open = is_open;
  changed();
}

// Takes a message from a bus view, if one is shown.
export function take_view(text) {
  view?.take?.(text);
}
export function newest_view() {
  return view?.view ?? null;
}

function has_another_version(message) {
  const {newest} = readings;
  return newest?.version !== undefined && message.version !== undefined &&
      (newest.version !== message.version || newest.revision !== message.revision);
}

function changed() {
  if (is_due || document.hidden) return;
  is_due = true;
  requestAnimationFrame(() => {
    is_due = false;
    show();
  });
}

function window_ms() {
  return Number(document.querySelector("input[name=window]:checked").value) * 60_000;
}

function show() {
  const {newest} = readings;
  const age_ms = performance.now() - readings.arrived_ms;
  const sentence = verdict.connection_sentence(stream, newest, age_ms, readings.interval_ms);
  at("connection").hidden = sentence === null;
  set_text(at("connection_text"), sentence ?? "");
  set_text(
      at("connection_more"),
      stream.state === "waiting" ?
          `Next attempt in ${
              Math.max(0, Math.ceil((stream.again_ms - performance.now()) / 1000))} s.` :
          "");
  document.body.classList.toggle("old", sentence !== null && newest !== null);
  set_text(at("clock"), newest ? clock_text(newest.time) : "");
  if (!newest) return;
  set_text(at("host"), newest.host ?? "");
  const ranks = show_problems(newest);
  const bad_events = newest.buses.flatMap(bus => bus.events ?? []).filter(is_bad_event).length;
  at("events_bad").hidden = bad_events === 0;
  set_text(at("events_bad"), bad_events);
  set_text(at("server"), [
    `${location.host}, lapwing ${newest.version ?? ""}`.trim(),
    newest.conflated ?
        `${count_text(newest.conflated)} readings left out: this browser was too slow` :
        ""
  ].filter(text => text).join("; "));
  view.show({readings, window_ms: window_ms(), ranks, shows_observers, set_shows_observers});
}

// Returns the row ranks.
function show_problems(reading) {
  const problems = [...reading.buses.flatMap(problems_of), ...expected_problems(reading)];
  quiet.update(reading, problems, Date.now());
  const parts = quiet.split(problems);
  const lines = lines_of(parts.loud);
  const count = parts.loud.length;
  set_text(
      at("summary"),
      verdict.summary_of(reading, shows_observers) + (count === 0 ? " No problems." : ""));
  const bus = view.directory ? readings.bus(view.directory) : null;
  document.title = page_title(count, reading.host, bus ? bus_name(bus) : view.directory);
  box.show(lines, parts, quiet.muted, view instanceof BusesView);
  return new RowRanks(lines);
}

const box = new ProblemBox({
  on_acknowledge: problems => {
    quiet.acknowledge(problems);
    show();
  },
  on_mute: (problems, hours) => {
    quiet.mute(problems, hours, Date.now());
    show();
  },
  on_undo: ({problem, subject}) => {
    if (problem)
      quiet.undo_acknowledge([problem]);
    else
      quiet.unmute(subject);
    show();
  }
});

function set_shows_observers(value) {
  shows_observers = value;
  settings.set("show_observers", value);
  changed();
}

// "#buses", "#events", "#channels", "#bus=DIRECTORY" or "#bus=DIRECTORY&instrument=id:N".
function view_of(hash) {
  if (hash === "events") return new EventsView(changed);
  if (hash === "channels") return new ChannelsView();
  const parameters = new URLSearchParams(hash);
  if (parameters.has("bus")) {
    return new BusView(parameters.get("bus"), parameters.get("instrument"), changed, message => {
      if (has_another_version(message)) location.reload();
    });
  }
  return new BusesView();
}

function route() {
  const hash = location.hash.slice(1);
  if (hash.startsWith("token=")) {
    // The cookie is set. Remove the token from the address bar and the history.
    history.replaceState(null, "", location.pathname);
    return route();
  }
  if (hash === view_hash) return;
  const was_shown = view_hash !== null;
  view?.destroy();
  view_hash = hash;
  view = view_of(hash);
  at("view").replaceChildren(...view.nodes);
  at("view").className = view.constructor.name;
  for (const link of document.querySelectorAll("nav a")) {
    const name = link.getAttribute("href").slice(1);
    if (name === (hash || "buses"))
      link.setAttribute("aria-current", "page");
    else
      link.removeAttribute("aria-current");
  }
  if (was_shown) at("view").focus({preventScroll: true});
  histories.want([...readings.series.keys()], view.directory ?? null);
  changed();
}

function next_bus(step) {
  const buses = readings.newest?.buses ?? [];
  if (buses.length === 0) return;
  const now = buses.findIndex(bus => bus.directory === view.directory);
  const next =
      now < 0 ? (step > 0 ? 0 : buses.length - 1) : (now + step + buses.length) % buses.length;
  location.hash = bus_link(buses[next].directory);
}

const kKeys = {
  b: () => {
    location.hash = "#buses";
  },
  e: () => {
    location.hash = "#events";
  },
  c: () => {
    location.hash = "#channels";
  },
  j: () => next_bus(1),
  k: () => next_bus(-1),
  1: () => choose_window(0),
  2: () => choose_window(1),
  3: () => choose_window(2),
  "?": () => at("keys").showModal(),
};

function choose_window(index) {
  document.querySelectorAll("input[name=window]")[index].checked = true;
  changed();
}

addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("select, dialog"))
    return;
  kKeys[event.key]?.();
});
addEventListener("hashchange", route);
at("window").addEventListener("change", changed);
at("keys_button").addEventListener("click", () => at("keys").showModal());
at("keys_close").addEventListener("click", () => at("keys").close());

// Another tab has acknowledged or muted something.
addEventListener("storage", () => {
  quiet?.load();
  shows_observers = settings.get("show_observers") === true;
  changed();
});

// A hidden page requests nothing.
document.addEventListener("visibilitychange", () => {
  for (const one of [stream, view.stream]) {
    if (document.hidden)
      one?.close();
    else
      one?.open();
  }
  if (document.hidden) histories.stop();
  changed();
});
setInterval(changed, kTickMs);
route();
if (!document.hidden) stream.open();
