// The readings that the page keeps: the newest one, and a series for each bus.
//
// Pure: no document.
import {BusSeries} from "./bus_series.js";

export class Readings {
  constructor() {
    this.newest = null;
    this.arrived_ms = 0;
    this.interval_ms = 0;  // between the last two
    this.count = 0;
    this.series = new Map();  // by directory
  }

  // Returns whether this reading comes from a different server version than the one before.
  take(reading, now_ms) {
    const time_ms = Date.parse(reading.time);
    const before = this.newest;
    if (before) {
      this.interval_ms = Math.max(0, time_ms - Date.parse(before.time));
    }
    this.newest = reading;
    this.arrived_ms = now_ms;
    ++this.count;
    const directories = new Set(reading.buses.map(bus => bus.directory));
    for (const directory of this.series.keys()) {
      if (!directories.has(directory)) this.series.delete(directory);
    }
    for (const bus of reading.buses) {
      if (!this.series.has(bus.directory)) this.series.set(bus.directory, new BusSeries());
      this.series.get(bus.directory).add(time_ms, bus);
    }
    return before !== null &&
        (before.version !== reading.version || before.revision !== reading.revision);
  }

  // Called when the page has been asleep or disconnected.
  break_lines() {
    if (!this.newest) return;
    const time_ms = Date.parse(this.newest.time) + 1;
    for (const series of this.series.values()) series.break_lines(time_ms);
  }

  bus(directory) {
    return this.newest?.buses.find(bus => bus.directory === directory) ?? null;
  }

  time_ms() {
    return this.newest ? Date.parse(this.newest.time) : Date.now();
  }
}
