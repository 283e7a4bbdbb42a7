// Converts times in options: milliseconds here, nanoseconds in C.
import { invalid } from './error.js';
import { checkNames, checkSignal, shown, WAIT_NAMES } from './options.js';

/** How long a call may wait. */
export interface WaitOptions {
  /** Milliseconds. 0 does not wait and fails with would-block. Default: no limit. */
  timeout?: number;
  /** Ends the wait: the promise is rejected with the signal's reason. */
  signal?: AbortSignal;
}

/** Throws unless all names are wait options or contained in `more`. */
export function checkWait(call: string, options: WaitOptions, more: readonly string[] = []): void {
  checkNames(call, options, [...more, ...WAIT_NAMES]);
  checkTimeout(options.timeout);
  checkSignal(options.signal);
}

const FOREVER_NS = -1;
const MS_MIN = 1e-6; // one nanosecond, since 0 would mean not to wait

/** Milliseconds from now until a time of performance.now(), for a wait that continues. */
export function msUntil(end: number): number {
  return Math.max(MS_MIN, end - performance.now());
}

/** Converts a timeout to nanoseconds. Infinity and undefined mean forever. */
export function timeoutNs(milliseconds: number | undefined): number | bigint {
  checkTimeout(milliseconds);
  if (milliseconds === undefined || milliseconds === Infinity) return FOREVER_NS;
  return nanosecondsOf(milliseconds);
}

export function checkTimeout(milliseconds: unknown): void {
  if (milliseconds === undefined || (typeof milliseconds === 'number' && milliseconds >= 0)) return;
  throw invalid(`timeout is ${shown(milliseconds)}. Give milliseconds: 0 does not wait, Infinity waits without end`);
}

/** Converts a duration to nanoseconds. undefined means the library's default, Infinity no limit. */
export function durationNs(option: string, milliseconds: number | undefined): number | bigint | undefined {
  if (milliseconds === undefined) return undefined;
  if (milliseconds === Infinity) return FOREVER_NS;
  if (!(typeof milliseconds === 'number' && milliseconds >= 0)) {
    throw invalid(`${option} is ${shown(milliseconds)}. Give milliseconds; leave it out for the default`);
  }
  return nanosecondsOf(milliseconds);
}

function nanosecondsOf(milliseconds: number): number | bigint {
  const nanoseconds = Math.ceil(milliseconds * 1e6);
  if (Number.isSafeInteger(nanoseconds)) return nanoseconds;
  return BigInt(Math.min(Math.ceil(milliseconds), 9e12)) * 1_000_000n;
}
