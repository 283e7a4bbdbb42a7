// Reads a bus at its own pace: records, states and events, in order.
import { constants, layouts, type Ages, type SubscriberInfo } from './abi.js';
import { Batch, type Item } from './batch.js';
import { check, ErrorMemory, errorMemory, invalid, isLapwingError, LapwingError } from './error.js';
import { Handle } from './handle.js';
import { native } from './library.js';
import { Cell, defaultOptions, stringList, Struct } from './memory.js';
import { newPosition, readPosition, writePosition, type Position } from './position.js';
import { isReadable, whenReadable } from './poller.js';
import { Iteration } from './iteration.js';
import { checkBytes, checkNames, flagOf, shown, wordOf } from './options.js';
import { Schema, textOf } from './schema.js';
import { checkWait, durationNs, timeoutNs, type WaitOptions } from './time.js';
import { interrupted, type Again } from './waits.js';

/** Where a subscriber starts. The functions of `Start` create it. */
export type Start =
  | 'live'
  | 'oldest'
  | 'snapshot'
  | { readonly sequence: bigint }
  | { readonly time: bigint }
  | { readonly after: Position };

export const Start = {
  /** Starts with the next record that is published. */
  live: (): Start => 'live',
  /** Starts with the oldest retained record. */
  oldest: (): Start => 'oldest',
  /** Starts with the state of the newest checkpoint, then the records after it. */
  snapshot: (): Start => 'snapshot',
  /** Starts with that record. */
  sequence: (sequence: bigint): Start => ({ sequence }),
  /** Starts at that publish time in UTC ns, or slightly earlier. */
  time: (utcNs: bigint): Start => ({ time: utcNs }),
  /** Starts after a position from a subscriber or a cursor. */
  after: (position: Position): Start => ({ after: position }),
} as const;

export interface SubscriberOptions {
  /** Directory of the bus. */
  directory: string;
  /** Shown by `lapwing subscribers`. */
  name?: string;
  /** Default: live. */
  start?: Start;
  /** fill: read the records from the journal. Default: fill. */
  onGap?: 'fill' | 'skip' | 'stop' | 'snapshot';
  /** busy: each wait occupies a thread and a core. Default: backoff. */
  wait?: 'busy' | 'backoff' | 'park';
  /** Fold of the state. Default: the schema's default fold. */
  fold?: string;
  /** The schema that the records must match. Default: any. */
  expect?: Schema | string;
  /** Symbols as strings, even if all digits ('005930'); numbers as integers, or as 'id:5930'. Default: all. */
  instruments?: readonly (string | number | bigint)[];
  /** After a clean close, end iterations and fail reads with closed, instead of waiting for the next session. */
  endAtClose?: boolean;
  /** How long to wait for the bus or a publisher. Default: 30 s; Infinity: forever. */
  reattachMs?: number;
  /** How long the publisher may take to answer the join. Default: 10 s; Infinity: forever. */
  flushTimeoutMs?: number;
  /** Time without a record until the event `stale`. Default: Infinity, never. */
  staleAfterMs?: number;
  /** Records behind the publisher until the event `behind`. Default: 0, no limit. */
  behindRecords?: number;
  /** Milliseconds behind the publisher until the event `behind`. Default: Infinity, never. */
  behindTimeMs?: number;
  /** Deliver only the newest record of each key, once per interval. Defaults: 250 ms, 65,536 keys. */
  conflate?: boolean | { readonly intervalMs?: number; readonly keysMax?: number };
  /** Measure the age of every Nth record, for ages(). Default: 0, no record. */
  measureEvery?: number;
  /** Set this if the program only displays records: docs/how-to/monitor.md. */
  observes?: boolean;
}

export interface ItemsOptions {
  /** Maximum number of rows in an item. Default: 4,096. */
  rows?: number;
  /** Milliseconds to wait for each item before timed-out. Default: no limit. */
  timeout?: number;
  /** An abort ends the wait for an item, but not the iteration. */
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
const NS_PER_MS = 1e6;
const ITEM_ROWS = 4096;
const NOT_DESCRIBED = Symbol('not described');

function instrumentName(instrument: string | number | bigint): string {
  if (typeof instrument === 'string') return instrument;
  const isNumber = typeof instrument === 'bigint' || Number.isSafeInteger(instrument);
  if (isNumber && instrument >= 0) return `id:${instrument}`;
  throw invalid(`instruments contains ${shown(instrument)}. Give a symbol, or a whole number from 0`);
}

const OPTIONS: readonly (keyof SubscriberOptions)[] = [
  'directory', 'name', 'start', 'onGap', 'wait', 'fold', 'expect', 'instruments', 'endAtClose', 'reattachMs',
  'flushTimeoutMs', 'staleAfterMs', 'behindRecords', 'behindTimeMs', 'conflate', 'measureEvery', 'observes',
];
const CONFLATION_OPTIONS = ['intervalMs', 'keysMax'];
const START_WORDS = { live: constants.START_LIVE, oldest: constants.START_OLDEST, snapshot: constants.START_SNAPSHOT };

function conflationOf(conflate: SubscriberOptions['conflate']): { intervalMs?: number; keysMax?: number } {
  if (conflate === undefined || typeof conflate === 'boolean') return {};
  if (typeof conflate !== 'object' || conflate === null) {
    throw invalid(`conflate is ${shown(conflate)}. It can be: true, false, { intervalMs, keysMax }`);
  }
  checkNames('conflate', conflate, CONFLATION_OPTIONS);
  return conflate;
}

function checkInstruments(instruments: unknown): void {
  const kinds = ['string', 'number', 'bigint'];
  if (instruments === undefined) return;
  if (!Array.isArray(instruments)) {
    const hint = typeof instruments === 'string' ? `: [${shown(instruments)}]` : '';
    throw invalid(`instruments is ${shown(instruments)}. Give an array${hint}`);
  }
  const wrong = instruments.findIndex((instrument) => !kinds.includes(typeof instrument));
  if (wrong >= 0) throw invalid(`instruments[${wrong}] is ${shown(instruments[wrong])}. Give a string or a number`);
}

/** Sets where the subscriber starts. */
function setStart(struct: Struct, start: Start): void {
  if (typeof start === 'string' && Object.hasOwn(START_WORDS, start)) {
    struct.set({ start: START_WORDS[start] });
    return;
  }
  const names = typeof start === 'object' && start !== null ? Object.keys(start) : [];
  if (typeof start === 'object' && names.length === 1) {
    if ('sequence' in start) return void struct.set({ start: constants.START_SEQUENCE, start_value: start.sequence });
    if ('time' in start) return void struct.set({ start: constants.START_TIME, start_value: start.time });
    if ('after' in start) {
      if (typeof start.after !== 'object' || start.after === null) {
        throw invalid(`start.after is ${shown(start.after)}. Give a position of a subscriber or of a cursor`);
      }
      struct.set({ start: constants.START_AFTER });
      const { offset } = layouts.lapwing_subscriber_options.fields.start_position;
      return writePosition(struct, offset, start.after);
    }
  }
  const given = names.length > 0 ? `{ ${names.join(', ')} }` : shown(start);
  throw invalid(
    `start is ${given}. It can be: Start.live(), Start.oldest(), Start.snapshot(), Start.sequence(n), ` +
      'Start.time(utcNs), Start.after(position)',
  );
}

function encoded(options: SubscriberOptions): Struct {
  checkNames('Subscriber.open', options, OPTIONS);
  const { start = 'live', conflate, instruments } = options;
  const conflation = conflationOf(conflate);
  checkInstruments(instruments);
  const list = instruments && stringList(instruments.map(instrumentName));
  const struct = defaultOptions(layouts.lapwing_subscriber_options, 'lapwing_subscriber_options_init').set({
    flags:
      flagOf('endAtClose', options.endAtClose, constants.SUBSCRIBER_END_AT_CLOSE) |
      flagOf('observes', options.observes, constants.SUBSCRIBER_OBSERVES) |
      (conflate ? constants.SUBSCRIBER_CONFLATE : 0),
    directory: options.directory,
    name: options.name,
    on_gap: wordOf('onGap', options.onGap, ON_GAP),
    wait: wordOf('wait', options.wait, WAIT),
    behind_records: options.behindRecords,
    fold: options.fold,
    expect: textOf('expect', options.expect),
    instruments: list,
    instrument_count: instruments?.length,
    reattach_ns: durationNs('reattachMs', options.reattachMs),
    flush_timeout_ns: durationNs('flushTimeoutMs', options.flushTimeoutMs),
    stale_after_ns: durationNs('staleAfterMs', options.staleAfterMs),
    behind_time_ns: durationNs('behindTimeMs', options.behindTimeMs),
    conflate_interval_ns: durationNs('conflate.intervalMs', conflation.intervalMs),
    conflate_keys_max: conflation.keysMax,
    measure_every: options.measureEvery,
  });
  setStart(struct, start);
  return struct;
}

export class Subscriber extends Handle {
  readonly #sequence = new Cell();
  readonly #isBusyWait: boolean;
  readonly #isSparse: boolean; // batches need a column of sequences
  readonly #again: Again | undefined;
  #fd: number | undefined;
  #schema: Schema | typeof NOT_DESCRIBED | undefined; // undefined: not read since the last session began

  /** Checks the options. The bus need not exist: reads wait for it. */
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
      const intervalNs = struct.number('conflate_interval_ns');
      const everyMs = intervalNs < 0 ? Infinity : intervalNs / NS_PER_MS;
      this.#again = () => everyMs;
    }
  }

  protected override source() {
    // The descriptor only covers attempts made after it was created, so try again after creating it.
    const arm = () => this.#fd !== undefined || (void this.fd, false);
    return { fd: () => this.fd, arm };
  }

  /**
   * Becomes readable when a read that found nothing may succeed. It belongs to the subscriber: do not
   * close it. It costs a library thread. Not available with wait: 'busy'.
   */
  get fd(): number {
    return (this.#fd ??= this.descriptor('lapwing_subscriber_fd'));
  }

  /** Returns whether `fd` becomes readable within the timeout. */
  async readable(options: WaitOptions = {}): Promise<boolean> {
    this.refuseOverlap();
    checkWait('readable', options);
    const { timeout = Infinity, signal } = options;
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

  /** Reads rows into `batch` and returns it, or returns an event. Returns undefined if nothing has arrived. */
  tryRead(batch: Batch): Item | undefined {
    this.refuseOverlap();
    return this.#read(batch);
  }

  #read(batch: Batch): Item | undefined {
    const result = native.lapwing_subscriber_read(
      this.pointer, batch.struct.bytes, 0, errorMemory.bytes,
    );
    if (result === constants.OK) return this.#delivered(batch);
    if (result === constants.ERROR_WOULD_BLOCK) return undefined;
    throw withRowBytes(errorMemory.thrown(result), batch);
  }

  #delivered(batch: Batch): Item {
    const { item } = batch;
    if (item.type === 'session' || item.type === 'reset') this.#schema = undefined;
    return item;
  }

  /** The same, but waits. Fails at the end of the bus, for example with closed. */
  async read(batch: Batch, options: WaitOptions = {}): Promise<Item> {
    this.refuseOverlap();
    checkWait('read', options);
    if (!this.#isBusyWait) {
      return await this.waits.wait(() => this.#read(batch), options, { again: this.#again });
    }
    try {
      await batch.lend((struct) => this.waitInThread('lapwing_subscriber_read', [struct.bytes], options));
    } catch (error) {
      throw error instanceof LapwingError ? withRowBytes(error, batch) : error;
    }
    return this.#delivered(batch);
  }

  /** Reads one record and returns its sequence, or undefined if nothing has arrived. */
  tryReadOne(record: Uint8Array): bigint | undefined {
    this.refuseOverlap();
    return this.#readOne(record);
  }

  #readOne(record: Uint8Array): bigint | undefined {
    checkBytes('record', record);
    const result = native.lapwing_subscriber_read_one(
      this.pointer, record, record.length, 0, this.#sequence.bytes, errorMemory.bytes,
    );
    if (result === constants.OK) return this.#sequence.value;
    if (result === constants.ERROR_WOULD_BLOCK) return undefined;
    throw errorMemory.thrown(result);
  }

  /** The same, but waits. Fails with event-due if an event precedes the next record. */
  async readOne(record: Uint8Array, options: WaitOptions = {}): Promise<bigint> {
    this.refuseOverlap();
    checkWait('readOne', options);
    checkBytes('record', record);
    if (!this.#isBusyWait) {
      return await this.waits.wait(() => this.#readOne(record), options, { again: this.#again });
    }
    options.signal?.throwIfAborted();
    if (this.waits.takeInterrupt()) throw interrupted();
    const memory = new Uint8Array(new ArrayBuffer(record.length)); // cannot be transferred during the wait
    const error = new ErrorMemory();
    const result = await this.inThread(
      'lapwing_subscriber_read_one',
      [memory, memory.length, timeoutNs(options.timeout), this.#sequence.bytes, error.bytes],
      options.signal,
    );
    if (result !== constants.OK) {
      options.signal?.throwIfAborted();
      throw error.thrown(result);
    }
    record.set(memory); // the record was read, even if the wait was aborted
    return this.#sequence.value;
  }

  /**
   * Iterates over records, states and events in order. Each item owns its memory. Ends at closed.
   * After a timeout or an abort, call next() again: no item is lost.
   */
  items(options: ItemsOptions = {}): AsyncIterableIterator<Item> {
    checkWait('items', options, ['rows']);
    const { rows = ITEM_ROWS, ...waits } = options;
    const make = (rowBytes?: number) =>
      new Batch({ rows, ...(rowBytes && { rowBytes }), sequences: this.#isSparse, conflated: this.#isSparse });
    let batch = make();
    return new Iteration(async () => {
      for (;;) {
        try {
          const item = await this.read(batch, waits);
          return item === batch ? (batch.copy() as Item) : item;
        } catch (error) {
          if (!isLapwingError(error, 'too-small') || !error.rowBytes) throw error;
          batch = make(error.rowBytes);
        }
      }
    });
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<Item> {
    return this.items();
  }

  /**
   * The schema of the records, as of the last delivered session or reset event, or undefined if they
   * are not described. Throws misuse if no session has been delivered yet.
   */
  get schema(): Schema | undefined {
    if (this.#schema === undefined) {
      this.refuseOverlap();
      const fill = (...out: unknown[]) => native.lapwing_subscriber_schema(this.pointer, ...out, errorMemory.bytes);
      this.#schema = Schema.filledBy(fill) ?? NOT_DESCRIBED;
    }
    return this.#schema === NOT_DESCRIBED ? undefined : this.#schema;
  }

  /** Returns how old the records selected by measureEvery were when delivered, or undefined if none was measured. */
  ages(): Ages | undefined {
    this.refuseOverlap();
    const ages = new Struct(layouts.lapwing_ages);
    const result = native.lapwing_subscriber_ages(this.pointer, ages.bytes, errorMemory.bytes);
    if (result === constants.ERROR_NOT_FOUND) return undefined;
    check(result);
    return ages.read() as unknown as Ages;
  }

  inspect(): SubscriberInfo {
    this.refuseOverlap();
    const info = new Struct(layouts.lapwing_subscriber_info);
    check(native.lapwing_subscriber_inspect(this.pointer, info.bytes, errorMemory.bytes));
    return info.read() as unknown as SubscriberInfo;
  }

  /** Returns a position to store: after everything delivered, or after row `sequence` of the last batch. */
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
