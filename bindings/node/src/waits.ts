// The waits of one handle, without a thread of its own: each is an attempt that does not wait,
// repeated when the handle's descriptor becomes readable. An attempt, or any other call with the
// handle, may cancel the request that the descriptor becomes readable (lapwing_channel_arm). So all
// attempts of a handle are made together, and then it is armed.
import { constants } from './abi.js';
import { LapwingError } from './error.js';
import { whenReadable } from './poller.js';
import type { WaitOptions } from './time.js';

/** The object with which a handle waits. */
export interface Source {
  fd(): number;
  /** False: something may be there already. */
  arm(bytes: number): boolean;
  /** A call of the handle is under way in another thread. */
  isBusy(): boolean;
}

/** Milliseconds until the next attempt, for a wait that the descriptor does not cover. */
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

/** Lets timers and sockets have their turn where reads succeed without end. */
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

  /** Returns the result of `attempt`, once it is not undefined. `bytes`: the room waited for. */
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

  /** The handle was used: what waits tries again, and the handle is armed anew. */
  disturb(): void {
    if (this.#isScheduled || this.#waiting.size === 0) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#attempt();
    });
  }

  /** Ends the waits under way, or else the next one. */
  interrupt(): void {
    if (this.#waiting.size === 0) this.#isInterrupted = true;
    this.end(interrupted());
  }

  /** True once after an interrupt() that ended no wait. */
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
    if (this.#source.isBusy()) return; // its end disturbs
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
