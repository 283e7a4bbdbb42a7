// Rows of one kind, or one event: memory that a read fills in. It may be used for read after read.
import { constants, layouts } from './abi.js';
import { invalid, misuse } from './error.js';
import { BusEvent, type Event } from './event.js';
import { Struct } from './memory.js';
import { checkNames, flagOf, shown } from './options.js';

/** The content of a batch. Before the first read: nothing. */
export type BatchType = 'nothing' | 'records' | 'state' | 'event';

/** Records, end to end. */
export type Records = Batch & { readonly type: 'records' };

/** Entries of a checkpoint's state. */
export type State = Batch & { readonly type: 'state' };

/** The results of reads and iterations, in order. `switch (item.type)` narrows it. */
export type Item = Records | State | Event;

export interface BatchOptions {
  /** How many rows at most. Default: as many as fit into `bytes`. */
  rows?: number;
  /** Bytes of a row, to reserve memory for. Default 56. */
  rowBytes?: number;
  /** Memory for rows, instead of rows * rowBytes. */
  bytes?: number;
  /** With a column of the rows' sequences. Needed with `instruments` and `conflate`. */
  sequences?: boolean;
  /** With a column of how many older records each row replaces. */
  conflated?: boolean;
}

const TYPES: readonly BatchType[] = ['nothing', 'records', 'state', 'event'];
const { count: COUNT, first: FIRST, kind: KIND, row_bytes: ROW_BYTES, flags: FLAGS } = layouts.lapwing_batch.fields;
const ROW_BYTES_DEFAULT = 56;

export class Batch {
  readonly #struct: Struct;
  /** The memory of the rows; `rows` is what of it the last read filled in. */
  readonly memory: Uint8Array;
  readonly #bytes: number; // of the memory and its columns
  readonly #view: DataView;
  readonly #sequences: BigUint64Array | undefined;
  readonly #conflated: BigUint64Array | undefined;
  #isLent = false; // to a call in another thread

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

  /** @internal The lapwing_batch, for one call: C knows the memory by its address. */
  get struct(): Struct {
    if (this.#isLent) throw misuse('a read in another thread fills this batch; wait for its end first');
    if (this.#memoryBytes !== this.#bytes) throw misuse('memory of this batch was transferred away; make another batch');
    return this.#struct;
  }

  get #memoryBytes(): number {
    return this.memory.length + (this.#sequences?.byteLength ?? 0) + (this.#conflated?.byteLength ?? 0);
  }

  /** @internal The lapwing_batch, for a call in another thread. */
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

  /** Rows. */
  get count(): number {
    return this.#view.getUint32(COUNT.offset, true); // of 64 bits, but no memory has 2^32 rows of 8
  }

  /** The sequence of row 0. */
  get first(): bigint {
    return this.#view.getBigUint64(FIRST.offset, true);
  }

  /** Bytes of a record, or of an entry of a state. */
  get rowBytes(): number {
    return this.#view.getUint32(ROW_BYTES.offset, true);
  }

  /** Whether the rows do not follow one another: see `sequences`. */
  get isSparse(): boolean {
    return (this.#view.getUint32(FLAGS.offset, true) & constants.BATCH_SPARSE) !== 0;
  }

  /** @internal What the last read filled in: this batch of rows, or an event. */
  get item(): Item {
    return this.type === 'event' ? BusEvent.of(this.#struct) : (this as Item);
  }

  /** count * rowBytes bytes: the rows, end to end. */
  get rows(): Uint8Array {
    return this.memory.subarray(0, this.count * this.rowBytes);
  }

  /** [count], a column; undefined where the batch was made without it. */
  get sequences(): BigUint64Array | undefined {
    return this.#sequences?.subarray(0, this.count);
  }

  /** [count], a column: how many older records each row replaces. */
  get conflated(): BigUint64Array | undefined {
    return this.#conflated?.subarray(0, this.count);
  }

  /** The bytes of row `index`. */
  row(index: number): Uint8Array {
    this.#checkRow(index);
    return this.memory.subarray(index * this.rowBytes, (index + 1) * this.rowBytes);
  }

  /** The sequence of row `index` of records. */
  sequence(index: number): bigint {
    this.#checkRow(index);
    if (!this.isSparse) return this.first + BigInt(index);
    if (this.#sequences) return this.#sequences[index]!;
    throw misuse('the rows do not follow one another: make the batch with `sequences: true`');
  }

  #checkRow(index: number): void {
    if (!(index >= 0 && index < this.count)) throw invalid(`there is no row ${index} of ${this.count}`);
  }

  /** The sequence and the bytes of each row. */
  *[Symbol.iterator](): IterableIterator<{ sequence: bigint; row: Uint8Array }> {
    for (let index = 0; index < this.count; ++index) {
      yield { sequence: this.sequence(index), row: this.row(index) };
    }
  }

  /** A batch of its own memory with the same content. */
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
