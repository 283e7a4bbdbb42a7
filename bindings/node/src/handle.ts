// An object of the library: its life, and its calls that wait in another thread.
//
// One thread at a time may use a handle. A call that waits runs on a thread of libuv's pool; until
// it has returned, the handle's other calls are answered with misuse, as in C.
import { constants, type FunctionName } from './abi.js';
import { check, errorMemory, ErrorMemory, misuse } from './error.js';
import { native } from './library.js';
import { Cell } from './memory.js';
import { msUntil, timeoutNs, type WaitOptions } from './time.js';
import { interrupted, Waits, type Source } from './waits.js';

/** Symbol.dispose, also where Node.js does not have it yet. */
export const dispose = (Symbol.dispose ?? Symbol.for('nodejs.dispose')) as typeof Symbol.dispose;

interface Life {
  readonly cell: Cell;
  readonly what: string;
  readonly destroy: FunctionName;
}

const forgotten = new FinalizationRegistry<Life>(({ cell, what, destroy }) => {
  native[destroy](cell.bytes);
  process.emitWarning(`a ${what} was garbage-collected, and destroyed. Call its destroy().`, {
    type: 'LapwingWarning',
  });
});

// Frees an object that was destroyed while its memory had views, after the last view is gone.
const lent = new FinalizationRegistry<Life>(({ cell, destroy }) => native[destroy](cell.bytes));

const held = new Set<unknown[]>(); // what calls in other threads use
const waitingInThreads = new Set<Handle>();
process.on('exit', () => {
  for (const handle of waitingInThreads) handle.interrupt(); // or the exit would wait for them
});

/** A call on a thread of libuv's pool. Its arguments and `kept` stay alive until it returns. */
function callInThread(name: FunctionName, parameters: unknown[], kept?: unknown): Promise<number> {
  const all = [...parameters, kept];
  held.add(all);
  return new Promise((resolve, reject) => {
    native[name].async(...parameters, (error, result: number) => {
      held.delete(all);
      if (error) reject(error);
      else resolve(result);
    });
  });
}

/** A call that makes an object, in another thread. After an abort what it makes is destroyed. */
export async function openInThread(
  name: FunctionName,
  destroy: FunctionName,
  parameters: unknown[],
  signal?: AbortSignal,
  kept?: unknown,
): Promise<Cell> {
  signal?.throwIfAborted();
  const cell = new Cell();
  const error = new ErrorMemory();
  const call = callInThread(name, [...parameters, cell.bytes, error.bytes], kept);
  if (signal) {
    let onAbort!: () => void;
    const aborted = new Promise<never>((_, reject) => {
      onAbort = () => {
        call.then(() => native[destroy](cell.bytes), () => undefined);
        reject(signal.reason);
      };
      signal.addEventListener('abort', onAbort);
    });
    try {
      await Promise.race([call, aborted]);
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }
  check(await call, error);
  return cell;
}

export abstract class Handle {
  /** The waits for a descriptor. */
  protected readonly waits: Waits;
  readonly #life: Life;
  readonly #interrupt: FunctionName | undefined;
  #pointer: bigint;
  #inThread: Promise<unknown> | undefined;
  #hasStaleInterrupt = false; // an abort's, of a call that had ended by itself
  #lease: object | undefined; // what views of the object's memory keep from being collected

  protected constructor(cell: Cell, what: string, destroy: FunctionName, interrupt?: FunctionName) {
    this.#life = { cell, what, destroy };
    this.#pointer = cell.value;
    this.#interrupt = interrupt;
    forgotten.register(this, this.#life, this);
    this.waits = new Waits({
      fd: () => this.source().fd(),
      arm: (bytes) => this.source().arm(bytes),
      isBusy: () => this.isInThread,
    });
  }

  protected source(): Pick<Source, 'fd' | 'arm'> {
    throw misuse(`a ${this.#life.what} has no descriptor`);
  }

  /** The C object; 0n after destroy(), which C answers with misuse. */
  protected get pointer(): bigint {
    return this.#pointer;
  }

  /** The result of a function for descriptors; -1: closed. */
  protected descriptor(name: FunctionName): number {
    const fd = new Int32Array(new ArrayBuffer(4));
    const result = native[name](this.pointer, new Uint8Array(fd.buffer), errorMemory.bytes);
    if (result === constants.ERROR_CLOSED) return -1;
    check(result);
    return fd[0]!;
  }

  protected get isInThread(): boolean {
    return this.#inThread !== undefined;
  }

  /** Owns what views of the object's memory show: that stays as long as one of them is in use. */
  protected get lease(): object {
    return (this.#lease ??= { handle: this });
  }

  /** Throws misuse while a wait is under way. */
  protected refuseOverlap(): void {
    if (this.isInThread || this.waits.size > 0) {
      throw misuse(`another call of this ${this.#life.what} is waiting; wait for its end first`);
    }
  }

  /** A call in another thread: pointer, parameters, the timeout where there is one, outs, error. */
  protected async waitInThread(
    name: FunctionName,
    before: unknown[],
    { timeout, signal }: WaitOptions,
    outs: unknown[] = [],
  ): Promise<void> {
    signal?.throwIfAborted();
    if (timeout !== 0 && this.waits.takeInterrupt()) throw interrupted();
    const ends = timeout === undefined ? Infinity : performance.now() + timeout;
    for (let left = timeout; ; left = msUntil(ends)) {
      const error = new ErrorMemory();
      const wasStale = this.#hasStaleInterrupt;
      const result = await this.inThread(
        name,
        [...before, timeoutNs(left), ...outs, error.bytes],
        signal,
      );
      if (result === constants.ERROR_INTERRUPTED) {
        this.#hasStaleInterrupt = false;
        signal?.throwIfAborted();
        if (wasStale) continue;
      }
      return check(result, error);
    }
  }

  /** The result of a call in another thread. */
  protected async inThread(
    name: FunctionName,
    parameters: unknown[],
    signal?: AbortSignal,
  ): Promise<number> {
    let wasRaised = false;
    const onAbort = () => {
      wasRaised = true;
      this.#raise();
    };
    signal?.addEventListener('abort', onAbort);
    waitingInThreads.add(this);
    const call = callInThread(name, [this.#pointer, ...parameters]);
    this.#inThread = call;
    try {
      const result = await call;
      if (wasRaised && result !== constants.ERROR_INTERRUPTED) this.#hasStaleInterrupt = true;
      return result;
    } finally {
      this.#inThread = undefined;
      waitingInThreads.delete(this);
      signal?.removeEventListener('abort', onAbort);
      this.waits.disturb();
    }
  }

  /** Runs `call` when no call is under way in another thread: nothing comes between. */
  protected async whenIdle<T>(call: () => T | Promise<T>): Promise<T> {
    while (this.#inThread) await this.#inThread.catch(() => undefined);
    return await call();
  }

  #raise(): void {
    if (this.#interrupt) native[this.#interrupt](this.#life.cell.value);
  }

  /** Ends the wait under way, or else the next one, with interrupted, once. */
  interrupt(): void {
    if (this.isInThread) this.#raise();
    else this.waits.interrupt();
  }

  /** Gives everything back, without waiting. Waits under way end with misuse. Idempotent. */
  destroy(): void {
    if (this.#pointer === 0n) return;
    this.#pointer = 0n;
    forgotten.unregister(this);
    this.waits.end(misuse(`the ${this.#life.what} was destroyed`));
    if (!this.#inThread) {
      this.#free();
      return;
    }
    this.#raise();
    const after = () => this.#free();
    this.#inThread.then(after, after);
  }

  #free(): void {
    if (this.#lease) lent.register(this.#lease, this.#life);
    else native[this.#life.destroy](this.#life.cell.bytes);
    this.#lease = undefined;
  }

  [dispose](): void {
    this.destroy();
  }
}
