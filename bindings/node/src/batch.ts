// Memory that a read fills with rows of one kind or with one event. It can be reused for any number of reads.
import { constants, layouts } from './abi.js';
import { invalid, misuse } from './error.js';
import { BusEvent, type Event } from './event.js';
import { Struct } from './memory.js';
import { checkNames, flagOf, shown } from './options.js';

/** The content of a batch: 'nothing' before the first read. */
export type BatchType = 'nothing' | 'records' | 'state' | 'event';

/** A batch of records. */
export type Records = Batch & { readonly type: 'records' };

/** A batch of state entries from a checkpoint. */
export type State = Batch & { readonly type: 'state' };

/** The result of a read or an iteration. `switch (item.type)` narrows it. */
export type Item = Records | State | Event;

export interface BatchOptions {
  /** Maximum number of rows. Default: as many as fit into `bytes`. */
  rows?: number;
  /** Row size in bytes, used to reserve memory. Default: 56. */
  rowBytes?: number;
  /** Memory for rows in bytes. Default: rows * rowBytes. */
  bytes?: number;
  /** Adds a column of the rows' sequences. Needed with `instruments` and `conflate`. */
  sequences?: boolean;
  /** Adds a column with the number of older records that each row replaces. */
  conflated?: boolean;
}

const TYPES: readonly BatchType[] = ['nothing', 'records', 'state', 'event'];
const { count: COUNT, first: FIRST, kind: KIND, row_bytes: ROW_BYTES, flags: FLAGS } = layouts.lapwing_batch.fields;
const ROW_BYTES_DEFAULT = 56;

export class Batch {
  readonly #struct: Struct;
  /** The memory for rows. `rows` is the part that the last read filled. */
  readonly memory: Uint8Array;
  readonly #bytes: number; // total size of the memory and the columns
  readonly #view: DataView;
  readonly #sequences: BigUint64Array | undefined;
  readonly #conflated: BigUint64Array | undefined;
  #isLent = false; // in use by a call on another thread

  constructor(options: BatchOptions) {
    checkNames('Batch', options, ['rows', 'rowBytes', 'bytes', 'sequences', 'conflated']);
    for (const name of ['rows', 'rowBytes', 'bytes'] as const) {
      const count = options[name];
      if (count !== undefined && !(Number.isInteger(count) && count >= 0)) {
        throw invalid(`${name} is ${shown(count)}. Give a whole number`);
      }
    }
    flagOf('sequences', options.sequences, 1);
    flagOf('conflated', options.conflated, 1);
    const { rows, rowBytes = ROW_BYTES_DEFAULT, sequences = false, conflated = false } = options;
    const bytes = options.bytes ?? (rows ?? 0) * rowBytes;
    const hasColumn = sequences || conflated;
    if (hasColumn && rows === undefined) throw invalid('a batch with a column needs `rows`');
    this.memory = new Uint8Array(new ArrayBuffer(bytes));
    if (sequences) this.#sequences = new BigUint64Array(rows!);
    if (conflated) this.#conflated = new BigUint64Array(rows!);
    this.#struct = new Struct(layouts.lapwing_batch).set({
      rows: this.memory,
      rows_bytes: bytes,
      rows_max: rows ?? 0,
      sequences: asBytes(this.#sequences),
      conflated: asBytes(this.#conflated),
    });
    this.#view = this.#struct.view;
    this.#bytes = this.#memoryBytes;
  }

  /** @internal The lapwing_batch, for one call. Throws if its memory was transferred, since it contains addresses. */
  get struct(): Struct {
    if (this.#isLent) throw misuse('a read in another thread fills this batch; wait for its end first');
    if (this.#memoryBytes !== this.#bytes) throw misuse('memory of this batch was transferred away; make another batch');
    return this.#struct;
  }

  get #memoryBytes(): number {
    return this.memory.length + (this.#sequences?.byteLength ?? 0) + (this.#conflated?.byteLength ?? 0);
  }

  /** @internal Lends the lapwing_batch to a call on another thread. */
  async lend<T>(call: (struct: Struct) => Promise<T>): Promise<T> {
    const { struct } = this;
    this.#isLent = true;
    try {
      return await call(struct);
    } finally {
      this.#isLent = false;
    }
  }

  get type(): BatchType {
    return TYPES[this.#view.getUint32(KIND.offset, true)] ?? 'nothing';
  }

  /** Number of rows. */
  get count(): number {
    return this.#view.getUint32(COUNT.offset, true); // a 64-bit field, but 2^32 rows do not fit into memory
  }

  /** The sequence of row 0. */
  get first(): bigint {
    return this.#view.getBigUint64(FIRST.offset, true);
  }

  /** Size in bytes of a record or a state entry. */
  get rowBytes(): number {
    return this.#view.getUint32(ROW_BYTES.offset, true);
  }

  /** True if the rows' sequences are not consecutive: see `sequences`. */
  get isSparse(): boolean {
    return (this.#view.getUint32(FLAGS.offset, true) & constants.BATCH_SPARSE) !== 0;
  }

  /** @internal The result of the last read: this batch, or an event. */
  get item(): Item {
    return this.type === 'event' ? BusEvent.of(this.#struct) : (this as Item);
  }

  /** The rows, count * rowBytes contiguous bytes. */
  get rows(): Uint8Array {
    return this.memory.subarray(0, this.count * this.rowBytes);
  }

  /** Column [count]: the sequence of each row. undefined if the batch was created without it. */
  get sequences(): BigUint64Array | undefined {
    return this.#sequences?.subarray(0, this.count);
  }

  /** Column [count]: the number of older records each row replaces. undefined if the batch was created without it. */
  get conflated(): BigUint64Array | undefined {
    return this.#conflated?.subarray(0, this.count);
  }

  /** The bytes of row `index`. */
  row(index: number): Uint8Array {
    this.#checkRow(index);
    return this.memory.subarray(index * this.rowBytes, (index + 1) * this.rowBytes);
  }

  /** The sequence of row `index`, for records. */
  sequence(index: number): bigint {
    this.#checkRow(index);
    if (!this.isSparse) return this.first + BigInt(index);
    if (this.#sequences) return this.#sequences[index]!;
    throw misuse('the rows do not follow one another: make the batch with `sequences: true`');
  }

  #checkRow(index: number): void {
    if (!(index >= 0 && index < this.count)) throw invalid(`there is no row ${index} of ${this.count}`);
  }

  /** Yields the sequence and the bytes of each row. */
  *[Symbol.iterator](): IterableIterator<{ sequence: bigint; row: Uint8Array }> {
    for (let index = 0; index < this.count; ++index) {
      yield { sequence: this.sequence(index), row: this.row(index) };
    }
  }

  /** Returns a batch with the same content and its own memory. */
  copy(): Batch {
    const count = this.type === 'event' ? 0 : this.count;
    const copy = new Batch({
      rows: count,
      bytes: count * this.rowBytes,
      sequences: this.#sequences !== undefined,
      conflated: this.#conflated !== undefined,
    });
    copy.memory.set(this.memory.subarray(0, copy.memory.length));
    if (this.#sequences) copy.#sequences!.set(this.#sequences.subarray(0, count));
    if (this.#conflated) copy.#conflated!.set(this.#conflated.subarray(0, count));
    copy.#view.setUint32(KIND.offset, this.#view.getUint32(KIND.offset, true), true);
    const outs = this.#struct.bytes.subarray(COUNT.offset);
    copy.#struct.bytes.set(outs, COUNT.offset);
    return copy;
  }
}

const asBytes = (column: BigUint64Array | undefined) => column && new Uint8Array(column.buffer);
