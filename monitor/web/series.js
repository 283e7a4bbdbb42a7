// Measurements over time, from the last 3,600 readings.
//
// Pure: no document.

export const kPointsMax = 3600;
const kColumnsMax = 64;  // of one history
const kFirstSize = 64;
const kBreakMs = 5_000;  // merged lines break where points are further apart than this,
const kBreakSteps = 3;   // and than this many usual steps

// The newest `limit` numbers. It grows to its limit, and then replaces the oldest number.
export class Ring {
  constructor(limit = kPointsMax) {
    this.limit = limit;
    this.values = new Float64Array(Math.min(kFirstSize, limit));
    this.begin = 0;
    this.size = 0;
  }

  push(value) {
    if (this.size === this.values.length && this.size < this.limit) {
      const larger = new Float64Array(Math.min(this.limit, this.size * 2));
      larger.set(this.values);  // it has not wrapped around yet: `begin` is 0
      this.values = larger;
    }
    if (this.size < this.values.length) {
      this.values[this.size++] = value;
    } else {
      this.values[this.begin] = value;
      this.begin = (this.begin + 1) % this.size;
    }
  }

  // 0 is the oldest.
  at(index) {
    return this.values[(this.begin + index) % this.size];
  }
}

// Columns of numbers over the same times. NaN: no number.
export class History {
  constructor(limit = kPointsMax) {
    this.limit = limit;
    this.times = new Ring(limit);
    this.columns = new Map();  // key -> {ring, newest: the number of the push that had it}
    this.pushes = 0;
  }

  // `values`: an object or a Map of numbers by key.
  push(time_ms, values) {
    const given = values instanceof Map ? values : new Map(Object.entries(values));
    const before = this.times.size;
    this.times.push(time_ms);
    ++this.pushes;
    for (const [key, value] of given) {
      let column = this.columns.get(key);
      if (!column) {
        column = {ring: new Ring(this.limit), newest: 0};
        for (let i = 0; i < Math.min(before, this.limit - 1); ++i) column.ring.push(NaN);
        this.columns.set(key, column);
      }
      column.ring.push(value);
      column.newest = this.pushes;
    }
    for (const [key, column] of this.columns) {
      if (column.newest === this.pushes) continue;
      column.ring.push(NaN);
      if (this.pushes - column.newest >= this.limit) this.columns.delete(key);
    }
    while (this.columns.size > kColumnsMax) this.columns.delete(this.oldest_column());
  }

  // The key that has been absent the longest.
  oldest_column() {
    let oldest = null;
    for (const [key, column] of this.columns) {
      if (oldest === null || column.newest < this.columns.get(oldest).newest) oldest = key;
    }
    return oldest;
  }

  // Breaks all lines, because nothing was measured for a while.
  break_lines(time_ms) {
    if (this.times.size > 0) this.push(time_ms, {});
  }

  // The index of the first point at or after a time.
  index_at(time_ms) {
    let low = 0;
    let high = this.times.size;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.times.at(middle) < time_ms)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }

  // [[time, value of each key …], …] from a time on, at most `rows_max` rows. If there are more
  // points, each row has the largest of several, so that no peak is lost. Breaks are kept.
  rows(keys, since_ms, rows_max = 600) {
    const columns = keys.map(key => this.columns.get(key)?.ring);
    const first = this.index_at(since_ms);
    const step = Math.max(1, Math.ceil((this.times.size - first) / rows_max));
    const rows = [];
    // Steps begin at the same points in each call, so that a drawn line does not flicker.
    let index = first - (this.pushes - this.times.size + first) % step;
    for (; index < this.times.size; index += step) {
      const from = Math.max(0, index);
      const to = Math.min(index + step, this.times.size);
      const row = [this.times.at(to - 1)];
      for (const column of columns) {
        let most = NaN;
        for (let i = from; column && i < to; ++i) {
          const value = column.at(i);
          if (!(value <= most) && !Number.isNaN(value)) most = value;
        }
        row.push(most);
      }
      rows.push(row);
    }
    return rows;
  }
}

// The columns of `own`, preceded by those of an older or longer history: {times_ms, columns: a Map
// of lists by key, null for no number}. Points with the same time are merged; if both have a
// number, the one in `own` is used. Points after the newest one of `own` are left out, because the
// stream sends them. Lines break where nothing was measured for a while.
export function merged(own, {times_ms, columns}) {
  const kept = own_points(own);
  const step_ms = median_step(times_ms) || median_step(kept.map(point => point.time_ms));
  const points = [];  // {time_ms, own: an index or -1, other: an index or -1}
  let other = 0;
  const take_others = until_ms => {
    for (; other < times_ms.length && times_ms[other] < until_ms; ++other) {
      points.push({time_ms: times_ms[other], own: -1, other});
    }
  };
  for (const {time_ms, index} of kept) {
    take_others(time_ms - step_ms / 2);
    const is_same = other < times_ms.length && times_ms[other] <= time_ms + step_ms / 2;
    points.push({time_ms, own: index, other: is_same ? other++ : -1});
  }
  take_others(own.times.size > 0 ? own.times.at(own.times.size - 1) : Infinity);

  const result = new History(own.limit);
  const keys = [...new Set([...own.columns.keys(), ...columns.keys()])].slice(0, kColumnsMax);
  let before_ms = null;
  for (const point of points) {
    if (before_ms !== null && point.time_ms - before_ms > Math.max(kBreakMs, kBreakSteps * step_ms))
      result.break_lines(before_ms + 1);
    before_ms = point.time_ms;
    const values = new Map();
    for (const key of keys) {
      let value = point.own < 0 ? NaN : own.columns.get(key)?.ring.at(point.own) ?? NaN;
      if (Number.isNaN(value) && point.other >= 0) {
        value = columns.get(key)?.[point.other] ?? NaN;
      }
      if (!Number.isNaN(value)) values.set(key, value);
    }
    result.push(point.time_ms, values);
  }
  return result;
}

// The points in a history that are not breaks.
function own_points(own) {
  const rings = [...own.columns.values()].map(({ring}) => ring);
  const points = [];
  for (let index = 0; index < own.times.size; ++index) {
    if (rings.some(ring => !Number.isNaN(ring.at(index)))) {
      points.push({time_ms: own.times.at(index), index});
    }
  }
  return points;
}

// The usual time between two points; 0 if there are fewer than two.
export function median_step(times_ms) {
  const steps = times_ms.slice(1).map((time, i) => time - times_ms[i]).sort((a, b) => a - b);
  return steps[steps.length >> 1] ?? 0;
}

// The newest trades, each once, identified by their sequences.
export class Tape {
  constructor(limit = 200) {
    this.limit = limit;
    this.trades = [];  // oldest first
  }

  // `trades`: oldest first; some may be here already.
  add(trades) {
    const last = this.trades.length ? Number(this.trades.at(-1).sequence) : 0;
    for (const trade of trades) {
      if (Number(trade.sequence) > last) this.trades.push(trade);
    }
    this.trades.splice(0, this.trades.length - this.limit);
  }
}
