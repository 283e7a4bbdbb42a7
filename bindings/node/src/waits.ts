// The waits of one handle, without extra threads. Each wait is a non-blocking attempt, repeated when
// the handle's descriptor becomes readable. An attempt, or any other call on the handle, may disarm the descriptor
// (lapwing_channel_arm). So a handle makes all its attempts together before it is armed.
import { constants } from './abi.js';
import { LapwingError } from './error.js';
import { whenReadable } from './poller.js';
import type { WaitOptions } from './time.js';

/** The handle's functions that its waits need. */
export interface Source {
  fd(): number;
  /** Returns false if an attempt may succeed now. */
  arm(bytes: number): boolean;
  /** Returns whether a call on the handle is running on another thread. */
  isBusy(): boolean;
}

/** Returns the milliseconds until the next attempt, for a wait that the descriptor does not cover. */
export type Again = () => number;

interface Waiting {
  attempt(): boolean;
  fail(error: unknown): void;
  readonly bytes: number;
  readonly again: Again | undefined;
}

const LOOP_TURN_MS_MAX = 5;
const TIMER_MS_MAX = 2 ** 31 - 1;

let turnBegan = performance.now();

/** Lets timers and sockets run if reads succeed all the time. */
function breath(): Promise<void> | undefined {
  if (performance.now() - turnBegan < LOOP_TURN_MS_MAX) return undefined;
  return new Promise((resolve) =>
    setImmediate(() => {
      turnBegan = performance.now();
      resolve();
    }),
  );
}

export const interrupted = () =>
  new LapwingError(constants.ERROR_INTERRUPTED, 'interrupt() ended the wait');
const timedOut = () =>
  new LapwingError(constants.ERROR_TIMED_OUT, 'nothing arrived before the timeout');
const wouldBlock = () =>
  new LapwingError(constants.ERROR_WOULD_BLOCK, 'nothing is there now, and the timeout is 0');

export class Waits {
  readonly #source: Source;
  readonly #waiting = new Set<Waiting>();
  #stopPolling: (() => void) | undefined;
  #again: NodeJS.Timeout | undefined;
  #isScheduled = false;
  #isInterrupted = false;

  constructor(source: Source) {
    this.#source = source;
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** Returns the result of `attempt` once it is not undefined. `bytes` is the room that a producer needs. */
  async wait<T>(
    attempt: () => T | undefined,
    { timeout = Infinity, signal }: WaitOptions = {},
    { bytes = 0, again }: { bytes?: number; again?: Again | undefined } = {},
  ): Promise<T> {
    signal?.throwIfAborted();
    const pause = breath();
    if (pause) await pause;
    if (!this.#source.isBusy()) {
      const value = attempt();
      if (value !== undefined) return value;
    }
    if (timeout <= 0) throw wouldBlock();
    if (this.takeInterrupt()) throw interrupted();
    return await new Promise<T>((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined;
      const leave = () => {
        this.#waiting.delete(waiting);
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
        if (this.#waiting.size === 0) this.#rest();
      };
      const waiting: Waiting = {
        bytes,
        again,
        attempt: () => {
          const value = attempt();
          if (value === undefined) return false;
          leave();
          resolve(value);
          return true;
        },
        fail: (error) => {
          leave();
          reject(error);
        },
      };
      const onAbort = () => waiting.fail(signal!.reason);
      signal?.addEventListener('abort', onAbort);
      this.#waiting.add(waiting);
      if (timeout <= TIMER_MS_MAX) timer = setTimeout(() => this.#last(waiting), timeout);
      this.disturb();
    });
  }

  /** Call this after the handle was used: all waits try again, and the handle is armed again. */
  disturb(): void {
    if (this.#isScheduled || this.#waiting.size === 0) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#attempt();
    });
  }

  /** Ends the current waits, or the next wait if there are none. */
  interrupt(): void {
    if (this.#waiting.size === 0) this.#isInterrupted = true;
    this.end(interrupted());
  }

  /** Returns true once after an interrupt() that did not end a wait. */
  takeInterrupt(): boolean {
    const was = this.#isInterrupted;
    this.#isInterrupted = false;
    return was;
  }

  end(error: LapwingError): void {
    for (const waiting of [...this.#waiting]) waiting.fail(error);
  }

  #last(waiting: Waiting): void {
    try {
      if (this.#source.isBusy() || !waiting.attempt()) waiting.fail(timedOut());
    } catch (error) {
      waiting.fail(error);
    }
    this.disturb();
  }

  #rest(): void {
    this.#stopPolling?.();
    this.#stopPolling = undefined;
    clearTimeout(this.#again);
  }

  #attempt(): void {
    if (this.#source.isBusy()) return; // disturb() is called when that call ends
    for (const waiting of [...this.#waiting]) {
      if (!this.#waiting.has(waiting)) continue;
      try {
        waiting.attempt();
      } catch (error) {
        waiting.fail(error);
      }
    }
    const [first] = this.#waiting;
    if (first === undefined) return;
    try {
      if (!this.#source.arm(first.bytes)) return this.disturb();
      this.#stopPolling ??= whenReadable(this.#source.fd(), () => {
        this.#stopPolling = undefined;
        this.#attempt();
      });
    } catch (error) {
      for (const waiting of [...this.#waiting]) waiting.fail(error);
      return;
    }
    clearTimeout(this.#again);
    const delay = Math.min(...[...this.#waiting].map(({ again }) => again?.() ?? Infinity));
    if (delay <= TIMER_MS_MAX) this.#again = setTimeout(() => this.#attempt(), delay);
  }
}
