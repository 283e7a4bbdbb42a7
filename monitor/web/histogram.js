// Histograms of ages, [[upper_ns, count], …] with ascending bounds, and the difference of two.
//
// Pure: no document.
import {kPointsMax} from "./series.js";

// The counts of `newer` minus those of `older`. null if that is unknown: there is no older one, or
// it is from another run of the subscriber. The last bucket is open: its bound is the largest age
// so far, and may have grown.
export function difference(newer, older) {
  if (!newer || !older) return null;
  const before = new Map(older);
  const buckets = [];
  for (const [upper_ns, count] of newer) {
    const more = count - (before.get(upper_ns) ?? 0);
    before.delete(upper_ns);
    if (more < 0) return null;
    if (more > 0) buckets.push([upper_ns, more]);
  }
  if (before.size === 0) return buckets;
  const [upper_ns, count] = older.at(-1);
  const last = buckets.at(-1);
  if (before.size > 1 || !before.has(upper_ns) || !last || last[0] < upper_ns || last[1] < count) {
    return null;
  }
  last[1] -= count;
  return last[1] > 0 ? buckets : buckets.slice(0, -1);
}

// The upper bound of the bucket that contains this quantile; null for an empty histogram.
export function percentile(buckets, share) {
  const total = buckets.reduce((sum, [, count]) => sum + count, 0);
  let rest = Math.ceil(total * share);
  for (const [upper_ns, count] of buckets) {
    rest -= count;
    if (rest <= 0) return upper_ns;
  }
  return null;
}

// The rows of a heat map: each is half a power of two, from 128 ns.
const kFirstLog = 7;
export const kBands = 56;  // through 2^35 ns, 34 s
export function band_of(ns) {
  const band = Math.ceil(2 * (Math.log2(Math.max(1, ns)) - kFirstLog));
  return Math.min(kBands - 1, Math.max(0, band));
}
export function band_limit_ns(band) {
  return 2 ** (kFirstLog + band / 2);
}

// The index of the first column at or after a time.
function first_at(columns, time_ms) {
  let low = 0;
  let high = columns.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (columns[middle].time_ms < time_ms)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// One subscriber's ages over time: a column for each reading.
export class HeatMap {
  constructor(limit = kPointsMax) {
    this.limit = limit;
    this.older = null;
    this.columns = [];  // {time_ms, buckets}, the oldest first
  }

  add(time_ms, buckets) {
    const new_ones = difference(buckets, this.older);
    this.older = buckets;
    if (new_ones) this.columns.push({time_ms, buckets: new_ones});
    if (this.columns.length > this.limit) this.columns.shift();
  }

  // Inserts older columns before its own: [{time_ms, buckets}], each with the ages since the
  // previous column. A column within half a step of one of its own is left out.
  merge(columns, step_ms) {
    const own = this.columns;
    const others = columns.filter(({time_ms}) => {
      const at = first_at(own, time_ms - step_ms / 2);
      return at === own.length || own[at].time_ms > time_ms + step_ms / 2;
    });
    this.columns = [...others, ...own].sort((a, b) => a.time_ms - b.time_ms).slice(-this.limit);
  }

  // One histogram of all ages since a time.
  sum(since_ms) {
    const sums = new Map();
    for (const {time_ms, buckets} of this.columns) {
      if (time_ms < since_ms) continue;
      for (const [upper_ns, count] of buckets) {
        sums.set(upper_ns, (sums.get(upper_ns) ?? 0) + count);
      }
    }
    return [...sums].sort((a, b) => a[0] - b[0]);
  }

  // Counts by picture column and by band: `width` times kBands numbers.
  cells(since_ms, until_ms, width) {
    const cells = new Float64Array(width * kBands);
    const span_ms = until_ms - since_ms;
    for (const {time_ms, buckets} of this.columns) {
      if (time_ms <= since_ms || time_ms > until_ms) continue;
      const x = Math.min(width - 1, Math.floor((time_ms - since_ms) / span_ms * width));
      for (const [upper_ns, count] of buckets) cells[x * kBands + band_of(upper_ns)] += count;
    }
    return cells;
  }
}
