// Reads a bus at its own pace: records, states and events, in order.
import { constants, layouts, type SubscriberInfo } from './abi.js';
import { Batch, type Item } from './batch.js';
import { check, errorMemory, errorName, isCode, LapwingError } from './error.js';
import { Handle } from './handle.js';
import { native } from './library.js';
import { Cell, stringList, Struct } from './memory.js';
import { newPosition, readPosition, writePosition, type Position } from './position.js';
import { isReadable, whenReadable } from './poller.js';
import type { Schema } from './schema.js';
import { durationNs, timeoutNs, type WaitOptions } from './time.js';
import { interrupted, type Again } from './waits.js';

/** live: the next record. oldest: that is kept. snapshot: the newest checkpoint's state first. */
export type Start =
  | 'live'
  | 'oldest'
  | 'snapshot'
  | { readonly sequence: bigint }
  /** UTC ns: at or a little before. */
  | { readonly time: bigint }
  | { readonly after: Position };

export interface SubscriberOptions {
  /** Of the bus. */
  directory: string;
  /** Shown by `lapwing subscribers`. */
  name?: string;
  /** Default: live. */
  start?: Start;
  /** fill: read it from the journal. Default: fill. */
  onGap?: 'fill' | 'skip' | 'stop' | 'snapshot';
  /** busy: each wait takes a thread and a core. Default: backoff. */
  wait?: 'busy' | 'backoff' | 'park';
  /** Of a state. Default: the schema's. */
  fold?: string;
  /** What the records have to be. Default: anything. */
  expect?: Schema | string;
  /** Symbols as strings, also of digits ('005930'); numbers as integers, or as 'id:5930'. Default: all. */
  instruments?: readonly (string | number | bigint)[];
  /** A clean close is the end: an iteration ends, a read fails with closed. */
  endAtClose?: boolean;
  /** For how long a bus or publisher is waited for. Default: 30 s. */
  reattachMs?: number;
  /** How long the publisher may take for the join. Default: 10 s. */
  flushTimeoutMs?: number;
  /** Default: never. */
  staleAfterMs?: number;
  /** `behind` and `live` events by records. Default: not by this measure. */
  behindRecords?: number;
  /** Likewise by time. */
  behindMs?: number;
  /** The newest record of each key, once an interval. Defaults: 250 ms, 65,536 keys. */
  conflate?: boolean | { readonly intervalMs?: number; readonly keysMax?: number };
}

export interface ItemsOptions {
  /** Rows of an item at most. Default: 4,096. */
  rows?: number;
  signal?: AbortSignal;
}

const ON_GAP = {
  fill: constants.ON_GAP_FILL,
  skip: constants.ON_GAP_SKIP,
  stop: constants.ON_GAP_STOP,
  snapshot: constants.ON_GAP_SNAPSHOT,
};
const WAIT = {
  busy: constants.WAIT_BUSY,
  backoff: constants.WAIT_BACKOFF,
  park: constants.WAIT_PARK,
};
const CONFLATE_MS = 250;
const ITEM_ROWS = 4096;

function instrumentName(instrument: string | number | bigint): string {
  if (typeof instrument === 'string') return instrument;
  const isNumber = typeof instrument === 'bigint' || Number.isSafeInteger(instrument);
  if (isNumber && instrument >= 0) return `id:${instrument}`;
  throw new TypeError(`instruments: ${String(instrument)} is not a symbol or a whole number`);
}

function encoded(options: SubscriberOptions): Struct {
  const { start = 'live', conflate, expect, instruments } = options;
  const conflation = typeof conflate === 'object' ? conflate : {};
  const list = instruments && stringList(instruments.map(instrumentName));
  const struct = new Struct(layouts.lapwing_subscriber_options).set({
    flags:
      (options.endAtClose ? constants.SUBSCRIBER_END_AT_CLOSE : 0) |
      (conflate ? constants.SUBSCRIBER_CONFLATE : 0),
    directory: options.directory,
    name: options.name,
    on_gap: options.onGap && ON_GAP[options.onGap],
    wait: options.wait && WAIT[options.wait],
    behind_records: options.behindRecords,
    fold: options.fold,
    expect: typeof expect === 'object' ? expect.text : expect,
    instruments: list,
    instrument_count: instruments?.length,
    reattach_ns: durationNs(options.reattachMs),
    flush_timeout_ns: durationNs(options.flushTimeoutMs),
    stale_after_ns: durationNs(options.staleAfterMs),
    behind_ns: durationNs(options.behindMs),
    conflate_interval_ns: durationNs(conflation.intervalMs),
    conflate_keys_max: conflation.keysMax,
  });
  if (start === 'live') struct.set({ start: constants.START_LIVE });
  else if (start === 'oldest') struct.set({ start: constants.START_OLDEST });
  else if (start === 'snapshot') struct.set({ start: constants.START_SNAPSHOT });
  else if ('sequence' in start) {
    struct.set({ start: constants.START_SEQUENCE, start_value: start.sequence });
  } else if ('time' in start) {
    struct.set({ start: constants.START_TIME, start_value: start.time });
  } else {
    struct.set({ start: constants.START_AFTER });
    const { offset } = layouts.lapwing_subscriber_options.fields.start_position;
    writePosition(struct, offset, start.after);
  }
  return struct;
}

export class Subscriber extends Handle {
  readonly #sequence = new Cell();
  readonly #isBusyWait: boolean;
  readonly #isSparse: boolean; // rows need a column of sequences
  readonly #again: Again | undefined;
  #fd: number | undefined;

  /** Checks the options. The bus is looked for by the calls that read. */
  static open(options: SubscriberOptions): Subscriber {
    return new Subscriber(options);
  }

  private constructor(options: SubscriberOptions) {
    const cell = new Cell();
    const struct = encoded(options);
    check(native.lapwing_subscriber_open(struct.bytes, cell.bytes, errorMemory.bytes));
    super(cell, 'subscriber', 'lapwing_subscriber_destroy', 'lapwing_subscriber_interrupt');
    const { conflate } = options;
    this.#isBusyWait = options.wait === 'busy';
    this.#isSparse = Boolean(conflate) || options.instruments !== undefined;
    if (conflate) {
      const everyMs = (typeof conflate === 'object' && conflate.intervalMs) || CONFLATE_MS;
      this.#again = () => everyMs;
    }
  }

  protected override source() {
    // The descriptor covers what was tried after it was made, not before.
    const arm = () => this.#fd !== undefined || (void this.fd, false);
    return { fd: () => this.fd, arm };
  }

  /**
   * Becomes readable when a read that found nothing may find something. The subscriber's own, not to
   * be closed. Costs a thread of the library's; not with wait: 'busy'.
   */
  get fd(): number {
    if (this.#fd === undefined) {
      const fd = new Int32Array(new ArrayBuffer(4));
      check(native.lapwing_subscriber_fd(this.pointer, new Uint8Array(fd.buffer), errorMemory.bytes));
      this.#fd = fd[0]!;
    }
    return this.#fd;
  }

  /** Whether `fd` becomes readable within the timeout. */
  async readable({ timeout = Infinity, signal }: WaitOptions = {}): Promise<boolean> {
    this.refuseOverlap();
    signal?.throwIfAborted();
    const { fd } = this;
    if (isReadable(fd)) return true;
    if (timeout <= 0) return false;
    return await new Promise((resolve, reject) => {
      const end = (settle: () => void) => {
        forget();
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
        settle();
      };
      const onAbort = () => end(() => reject(signal!.reason));
      const forget = whenReadable(fd, () => end(() => resolve(true)));
      const timer = timeout === Infinity ? undefined : setTimeout(() => end(() => resolve(false)), timeout);
      signal?.addEventListener('abort', onAbort);
    });
  }

  /** Reads rows of one kind, or one event, into `batch`. False: nothing is there now. */
  tryRead(batch: Batch): boolean {
    this.refuseOverlap();
    return this.#read(batch) !== undefined;
  }

  #read(batch: Batch): Batch | undefined {
    const result = native.lapwing_subscriber_read(
      this.pointer, batch.struct.bytes, 0, errorMemory.bytes,
    );
    if (result === constants.OK) return batch;
    if (result === constants.WOULD_BLOCK) return undefined;
    throw withRowBytes(errorMemory.thrown(result), batch);
  }

  /** The same, and waits. Resolves with `batch`. The end of the bus is an error: closed … */
  async read(batch: Batch, options: WaitOptions = {}): Promise<Batch> {
    this.refuseOverlap();
    if (!this.#isBusyWait) {
      return await this.waits.wait(() => this.#read(batch), options, { again: this.#again });
    }
    try {
      await batch.lend((struct) => this.waitInThread('lapwing_subscriber_read', [struct.bytes], options));
    } catch (error) {
      throw error instanceof LapwingError ? withRowBytes(error, batch) : error;
    }
    return batch;
  }

  /** The next record and nothing else. Returns its sequence; undefined: nothing is there now. */
  tryTake(record: Uint8Array): bigint | undefined {
    this.refuseOverlap();
    return this.#take(record, 0);
  }

  #take(record: Uint8Array, timeout: number): bigint | undefined {
    const result = native.lapwing_subscriber_take(
      this.pointer, record, record.length, timeout, this.#sequence.bytes,
    );
    if (result === constants.OK) return this.#sequence.value;
    if (result === constants.WOULD_BLOCK) return undefined;
    throw takeError(result);
  }

  /** The same, and waits. Fails with event-due where an event stands before the next record. */
  async take(record: Uint8Array, options: WaitOptions = {}): Promise<bigint> {
    this.refuseOverlap();
    if (!this.#isBusyWait) {
      return await this.waits.wait(() => this.#take(record, 0), options, { again: this.#again });
    }
    options.signal?.throwIfAborted();
    if (this.waits.takeInterrupt()) throw interrupted();
    const memory = new Uint8Array(new ArrayBuffer(record.length)); // that nothing takes away meanwhile
    const result = await this.inThread(
      'lapwing_subscriber_take',
      [memory, memory.length, timeoutNs(options.timeout), this.#sequence.bytes],
      options.signal,
    );
    options.signal?.throwIfAborted();
    if (result !== constants.OK) throw takeError(result);
    record.set(memory);
    return this.#sequence.value;
  }

  /** Records, states and events in order, each item with memory of its own. Ends at closed. */
  async *items({ rows = ITEM_ROWS, signal }: ItemsOptions = {}): AsyncGenerator<Item, void, void> {
    const make = (rowBytes?: number) =>
      new Batch({ rows, ...(rowBytes && { rowBytes }), sequences: this.#isSparse, conflated: this.#isSparse });
    let batch = make();
    for (;;) {
      try {
        await this.read(batch, signal ? { signal } : {});
      } catch (error) {
        if (isCode(error, 'closed')) return;
        if (!isCode(error, 'too-small') || !error.rowBytes) throw error;
        batch = make(error.rowBytes);
        continue;
      }
      yield batch.copy() as Item;
    }
  }

  [Symbol.asyncIterator](): AsyncGenerator<Item, void, void> {
    return this.items();
  }

  inspect(): SubscriberInfo {
    this.refuseOverlap();
    const info = new Struct(layouts.lapwing_subscriber_info);
    check(native.lapwing_subscriber_inspect(this.pointer, info.bytes, errorMemory.bytes));
    return info.read() as unknown as SubscriberInfo;
  }

  /** The position to store: after everything delivered, or after that row of the last batch. */
  position(sequence = 0n): Position {
    this.refuseOverlap();
    const position = newPosition();
    check(native.lapwing_subscriber_position(this.pointer, sequence, position.bytes, errorMemory.bytes));
    return readPosition(position);
  }
}

function withRowBytes(error: LapwingError, batch: Batch): LapwingError {
  if (error.code === 'too-small') error.rowBytes = batch.rowBytes;
  return error;
}

function takeError(result: number): LapwingError {
  if (result === constants.EVENT_DUE) {
    return new LapwingError(result, 'an event stands before the next record: read() it');
  }
  return new LapwingError(result, `take() failed with ${errorName(result)}; read() has the words`);
}
