// Fetches the last hour of each bus from the server, and inserts it before the page's own
// measurements.

const kBusesMax = 64;  // of one epoch; an opened bus is fetched in any case

export class HistoryLoader {
  // `readings` has the series. changed() is called when there is something new to show.
  constructor(readings, changed) {
    this.readings = readings;
    this.changed = changed;
    this.begin();
  }

  // Called when the page has opened, woken up or reconnected: all histories are fetched again.
  begin() {
    this.stop();
    this.asked = new Set();
    this.is_supported = true;
    this.has_answered = false;
    this.abort = new AbortController();
  }

  stop() {
    this.abort?.abort();
    this.abort = null;
    this.is_busy = false;
  }

  // Called after each reading with the buses that may be fetched, and the one being shown, or
  // null.
  want(directories, shown) {
    if (this.abort === null || this.is_busy || !this.is_supported) return;
    const next = shown !== null && !this.asked.has(shown) && directories.includes(shown) ? shown :
        this.asked.size < kBusesMax ? directories.find(directory => !this.asked.has(directory)) :
                                      undefined;
    if (next === undefined) return;
    this.asked.add(next);
    this.fetch_one(next, this.abort.signal).then(() => {
      this.want([...this.readings.series.keys()], shown);
    });
  }

  async fetch_one(directory, signal) {
    this.is_busy = true;
    try {
      const response = await fetch(
          `api/v1/history?${new URLSearchParams({bus: directory})}`, {cache: "no-store", signal});
      if (response.ok) {
        this.has_answered = true;
        const history = await response.json();
        if (signal.aborted) return;
        this.readings.series.get(directory)?.merge(history);
        this.changed();
      } else if (response.status === 404) {
        // This is an older server or, if it has answered before, the bus has just closed.
        this.is_supported = this.has_answered;
      }
    } catch {
      // Not connected, or invalid JSON: the charts begin with the page's own measurements.
    } finally {
      if (!signal.aborted) this.is_busy = false;
    }
  }
}
