// Times of options: milliseconds here, nanoseconds in C.
import { constants } from './abi.js';
import { LapwingError } from './error.js';

/** How long a call may wait. */
export interface WaitOptions {
  /** Milliseconds; 0: do not wait, fail with would-block. Default: without end. */
  timeout?: number;
  /** Ends the wait: the promise is rejected with the signal's reason. */
  signal?: AbortSignal;
}

const FOREVER_NS = -1;
const MS_MIN = 1e-6; // a nanosecond: 0 would mean not to wait

/** Milliseconds from now until a time of performance.now(), of a wait that goes on. */
export function msUntil(end: number): number {
  return Math.max(MS_MIN, end - performance.now());
}

/** Of a timeout. Infinity and undefined: forever. */
export function timeoutNs(milliseconds: number | undefined): number | bigint {
  if (milliseconds === undefined || milliseconds === Infinity) return FOREVER_NS;
  return durationNs(milliseconds)!;
}

/** Of a duration; undefined: the library's default. */
export function durationNs(milliseconds: number | undefined): number | bigint | undefined {
  if (milliseconds === undefined) return undefined;
  if (milliseconds === Infinity) return FOREVER_NS;
  if (!(milliseconds >= 0)) {
    throw new LapwingError(constants.INVALID_ARGUMENT, `${milliseconds} is no number of milliseconds`);
  }
  const nanoseconds = Math.ceil(milliseconds * 1e6);
  if (Number.isSafeInteger(nanoseconds)) return nanoseconds;
  return BigInt(Math.min(Math.ceil(milliseconds), 9e12)) * 1_000_000n;
}
