// Fetches the last hour of each bus from the server, and puts it under what the page has measured.

const kBusesMax = 64;  // of one epoch; a bus that is opened is fetched in any case

export class HistoryLoader {
  // `readings` has the series. changed(): there is something new to show.
  constructor(readings, changed) {
    this.readings = readings;
    this.changed = changed;
    this.begin();
  }

  // The page has opened, woken up or connected again: all histories are fetched anew.
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

  // After each reading: the buses that may be fetched, and the one that is shown, or null.
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
        // An older server, unless it has answered before: then the bus has just closed.
        this.is_supported = this.has_answered;
      }
    } catch {
      // Not connected, or no JSON: the charts begin with what the page measures.
    } finally {
      if (!signal.aborted) this.is_busy = false;
    }
  }
}
