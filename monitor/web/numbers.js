// Numbers as text, exactly: prices are integers in units of 1e-9, times are nanoseconds since 1970.
//
// Pure functions.

const kUndefinedPrice = 9223372036854775807n;  // DBN's value for no price
const kPriceDigits = 9;
const kExactDigits = 15;  // an integer of this many digits is exact as a number
export const kNothing = "–";

// Like JSON.parse, but integers that a number cannot hold exactly become strings.
export function parse_exact(text) {
  if (!/\d{16}/.test(text)) return JSON.parse(text);
  const token = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g;
  return JSON.parse(text.replace(token, found => {
    const is_long = found.length > kExactDigits && found[0] !== '"' && !/[.eE]/.test(found);
    return is_long ? `"${found}"` : found;
  }));
}

// 1234567 -> "1,234,567"; a fraction is rounded.
export function count_text(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return kNothing;
  const digits = typeof value === "number" ? String(Math.round(value)) : String(value);
  return digits.replace(/\B(?=(\d{3})+$)/g, ",");
}

// 1234567 -> "1.23M": for axes and narrow cells.
export function short_text(value) {
  if (!Number.isFinite(value)) return kNothing;
  let unit = 0;
  let size = Math.abs(value);
  while (size >= 999.5 && unit < 4) {
    size /= 1000;
    ++unit;
  }
  const digits = unit === 0 && Number.isInteger(value) ? 0 :
      size < 9.995                                     ? 2 :
      size < 99.95                                     ? 1 :
                                                         0;
  const text = digits === 0 ? size.toFixed(0) : size.toFixed(digits).replace(/\.?0+$/, "");
  return (value < 0 ? "-" : "") + text + ["", "k", "M", "G", "T"][unit];
}

// 1234567 -> "1.23 ms".
export function duration_text(ns) {
  if (ns === null || ns === undefined || !Number.isFinite(Number(ns))) return kNothing;
  let size = Number(ns);
  if (size < 999.5) return `${Math.round(size)} ns`;
  for (const unit of ["µs", "ms", "s"]) {
    size /= 1000;
    if (unit === "s" ? size < 119.5 : size < 999.5) {
      return `${size.toFixed(size < 9.995 ? 2 : size < 99.95 ? 1 : 0)} ${unit}`;
    }
  }
  if (size < 7170) return `${Math.round(size / 60)} min`;
  return size < 172_000 ? `${(size / 3600).toFixed(1)} h` : `${Math.round(size / 86_400)} d`;
}

// The number of decimals that all of these prices need: 4810.25 and 4810.5 need 2.
export function price_decimals(prices) {
  let decimals = 0;
  for (const price of prices) {
    if (price === null || price === undefined || BigInt(price) === kUndefinedPrice) continue;
    const digits = String(price).replace("-", "").padStart(kPriceDigits + 1, "0");
    const fraction = digits.slice(-kPriceDigits).replace(/0+$/, "");
    decimals = Math.max(decimals, fraction.length);
  }
  return decimals;
}

// A price in units of 1e-9, a number or its text, with at least `decimals` decimals.
export function price_text(price, decimals = 0) {
  if (price === null || price === undefined) return kNothing;
  const value = BigInt(price);
  if (value === kUndefinedPrice) return kNothing;
  const digits = (value < 0n ? -value : value).toString().padStart(kPriceDigits + 1, "0");
  const fraction = digits.slice(-kPriceDigits).replace(/0+$/, "").padEnd(decimals, "0");
  const whole = count_text(digits.slice(0, -kPriceDigits));
  return (value < 0n ? "-" : "") + whole + (fraction ? `.${fraction}` : "");
}

// Nanoseconds since 1970, a number or its text, as the time of day in UTC.
export function time_of_day_text(ns) {
  const value = BigInt(ns);
  const milliseconds = new Date(Number(value / 1_000_000n)).toISOString().slice(11, 23);
  return milliseconds + String(value / 1000n % 1000n).padStart(3, "0");
}

// "2026-11-27T09:53:04.114102919Z" -> "09:53:04".
export function clock_text(time) {
  return String(time).slice(11, 19);
}
