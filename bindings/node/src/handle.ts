// The base of all library objects: their lifetime, and their calls that wait on another thread.
//
// Only one thread may use a handle at a time. A call that waits runs on a thread of libuv's pool.
// Until it has returned, other calls on the handle fail with misuse, as in C.
import { constants, type FunctionName } from './abi.js';
import { check, errorMemory, ErrorMemory, misuse } from './error.js';
import { native } from './library.js';
import { Cell } from './memory.js';
import { msUntil, timeoutNs, type WaitOptions } from './time.js';
import { interrupted, Waits, type Source } from './waits.js';

/** Symbol.dispose, or a substitute in versions of Node.js that do not have it. */
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

// Frees an object that was destroyed while its memory had views, once the last view is collected.
const lent = new FinalizationRegistry<Life>(({ cell, destroy }) => native[destroy](cell.bytes));

const held = new Set<unknown[]>(); // keeps the arguments of calls on other threads alive
const waitingInThreads = new Set<Handle>();
process.on('exit', () => {
  for (const handle of waitingInThreads) handle.interrupt(); // otherwise the exit would wait for them
});

/** Runs a call on a thread of libuv's pool. Keeps its arguments and `kept` alive until it returns. */
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

/** Creates an object on another thread. If `signal` aborts the wait, the object is destroyed once it exists. */
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
  /** The waits on the handle's descriptor. */
  protected readonly waits: Waits;
  readonly #life: Life;
  readonly #interrupt: FunctionName | undefined;
  #pointer: bigint;
  #inThread: Promise<unknown> | undefined;
  #hasStaleInterrupt = false; // an abort interrupted a call that had already ended
  #lease: object | undefined; // kept alive by views of the object's memory

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

  /** The C object, or 0n after destroy(). C returns misuse for a null pointer. */
  protected get pointer(): bigint {
    return this.#pointer;
  }

  /** Returns the descriptor that the function `name` returns, or -1 if closed. */
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

  /** Owner of the object's memory for its views. The memory stays mapped while a view is in use. */
  protected get lease(): object {
    return (this.#lease ??= { handle: this });
  }

  /** Throws misuse while another call is waiting. */
  protected refuseOverlap(): void {
    if (this.isInThread || this.waits.size > 0) {
      throw misuse(`another call of this ${this.#life.what} is waiting; wait for its end first`);
    }
  }

  /** Runs a waiting call on another thread. Its parameters are: pointer, `before`, timeout, `outs`, error. */
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

  /** Runs a call on another thread and returns its result. */
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

  /** Runs `call` once no call is running on another thread. No other code runs in between. */
  protected async whenIdle<T>(call: () => T | Promise<T>): Promise<T> {
    while (this.#inThread) await this.#inThread.catch(() => undefined);
    return await call();
  }

  #raise(): void {
    if (this.#interrupt) native[this.#interrupt](this.#life.cell.value);
  }

  /** Ends the current wait with interrupted, or the next wait if there is none. */
  interrupt(): void {
    if (this.isInThread) this.#raise();
    else this.waits.interrupt();
  }

  /** Frees everything without waiting. Current waits end with misuse. Idempotent. */
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
