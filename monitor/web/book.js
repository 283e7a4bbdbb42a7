// An order book in the format of `lapwing book --json`: data for ladder and depth chart.
//
// Pure: no document.

// Each level with the cumulative size up to it, the best level first.
export function levels_of(side) {
  let sum = 0;
  return side.map(({price, size, orders}) => {
    sum += size;
    return {price, size, orders, sum};
  });
}

// The steps of the depth chart: {x0, x1, sum} for each level, from 0 to 1 along the prices and
// along the sums of both sides. A level extends to the next worse price, the worst one to the edge.
export function depth_of(bids, asks) {
  const prices = [...bids, ...asks].map(level => Number(level.price));
  if (prices.length === 0) return {bids: [], asks: [], sum_max: 0, price_min: 0, price_max: 0};
  const low = Math.min(...prices);
  const high = Math.max(...prices);
  // One step beyond the worst levels, so that they are visible.
  const edge = Math.max(1, (high - low) / Math.max(1, prices.length));
  const price_min = low - edge;
  const price_max = high + edge;
  const x = price => (price - price_min) / (price_max - price_min);
  const sum_max = Math.max(bids.at(-1)?.sum ?? 0, asks.at(-1)?.sum ?? 0);
  const steps = (levels, end) => levels.map((level, i) => {
    const next = i + 1 < levels.length ? Number(levels[i + 1].price) : end;
    const ends = [x(Number(level.price)), x(next)].sort((a, b) => a - b);
    return {...level, x0: ends[0], x1: ends[1], y: sum_max > 0 ? level.sum / sum_max : 0};
  });
  return {
    bids: steps(bids, price_min),
    asks: steps(asks, price_max),
    sum_max,
    price_min,
    price_max
  };
}
