// Reads the journal by sequence. A publisher may be running, but need not be.
import { constants, layouts, type HistoryInfo } from './abi.js';
import type { Batch, Item } from './batch.js';
import { check, errorMemory, ErrorMemory, invalid, misuse } from './error.js';
import { dispose, Handle, openInThread } from './handle.js';
import { native } from './library.js';
import { Cell, foreign, Struct } from './memory.js';
import { checkText } from './options.js';

const NOTHING = new Uint8Array(0);

export class History extends Handle {
  static async open(directory: string): Promise<History> {
    checkText('directory', directory);
    return new History(await openInThread('lapwing_history_open', 'lapwing_history_destroy', [directory]));
  }

  private constructor(cell: Cell) {
    super(cell, 'history', 'lapwing_history_destroy');
  }

  inspect(): HistoryInfo {
    this.refuseOverlap();
    const info = new Struct(layouts.lapwing_history_info);
    check(native.lapwing_history_inspect(this.pointer, info.bytes, errorMemory.bytes));
    return info.read() as unknown as HistoryInfo;
  }

  /**
   * Reads rows into `batch`, starting at `first`. Resolves with the batch, or with an event `lost`.
   * Throws would-block if `first` is not archived yet.
   */
  async read(first: bigint, batch: Batch): Promise<Item> {
    this.refuseOverlap();
    const error = new ErrorMemory();
    const result = await batch.lend((struct) =>
      this.inThread('lapwing_history_read', [first, struct.bytes, error.bytes]),
    );
    if (result === constants.ERROR_TOO_SMALL) throw Object.assign(error.thrown(result), { rowBytes: batch.rowBytes });
    check(result, error);
    return batch.item;
  }

  /** Returns the sequence from which to read to get every record published at or after `utcNs`. */
  async findTime(utcNs: bigint): Promise<bigint> {
    this.refuseOverlap();
    const error = new ErrorMemory();
    const sequence = new Cell();
    check(await this.inThread('lapwing_history_find_time', [utcNs, sequence.bytes, error.bytes]), error);
    return sequence.value;
  }

  /**
   * Maps the rows `first` to `last` without copying, up to the end of `first`'s segment, which must
   * be finished. Continue at view.first + view.count. The view may outlive the history.
   */
  map(first: bigint, last: bigint): HistoryView {
    this.refuseOverlap();
    const view = new Struct(layouts.lapwing_view);
    check(native.lapwing_history_map(this.pointer, first, last, view.bytes, errorMemory.bytes));
    return new HistoryView(view);
  }
}

interface Mapping {
  readonly view: Struct;
  isUnmapped: boolean;
}

// Watches the mapped memory, because an array over it can outlive its HistoryView.
const forgotten = new FinalizationRegistry<Mapping>(({ view, isUnmapped }) => {
  native.lapwing_history_unmap(view.bytes);
  if (isUnmapped) return;
  process.emitWarning('a HistoryView was garbage-collected, and unmapped. Call its unmap().', {
    type: 'LapwingWarning',
  });
});

/** Rows of the journal in mapped memory. All members except `unsafeBytes` return copies. */
export class HistoryView {
  /** The sequence of row 0. Row i has the sequence first + i. */
  readonly first: bigint;
  /** Number of rows. */
  readonly count: number;
  /** Row size in bytes. */
  readonly rowBytes: number;
  /** Distance between rows in bytes. */
  readonly strideBytes: number;
  readonly #mapping: Mapping;
  #bytes: Uint8Array;
  #isShared = false; // `unsafeBytes` was returned to the program

  /** @internal */
  constructor(view: Struct) {
    this.#mapping = { view, isUnmapped: false };
    this.first = view.bigint('first');
    this.count = view.number('count');
    this.rowBytes = view.number('row_bytes');
    this.strideBytes = view.number('stride_bytes');
    const length = this.count === 0 ? 0 : (this.count - 1) * this.strideBytes + this.rowBytes;
    this.#bytes = foreign(view.bigint('rows'), length);
    forgotten.register(this.#bytes.buffer, this.#mapping, this.#bytes.buffer);
  }

  /** Returns a copy of row `index`. */
  row(index: number): Uint8Array {
    return this.copyRows(index, index + 1);
  }

  /**
   * Copies the rows from `begin` up to, but not including, `end` to contiguous memory. `into` is memory to reuse, at
   * least (end - begin) * rowBytes bytes.
   */
  copyRows(begin = 0, end = this.count, into?: Uint8Array): Uint8Array {
    this.#checkMapped();
    if (!(begin >= 0 && begin <= end && end <= this.count)) {
      throw invalid(`there are no rows ${begin} to ${end} of ${this.count}`);
    }
    const { rowBytes, strideBytes } = this;
    const bytes = (end - begin) * rowBytes;
    const rows = into ?? new Uint8Array(bytes);
    if (rows.length < bytes) throw invalid(`${bytes} bytes of rows do not fit into ${rows.length}`);
    for (let row = begin, at = 0; row < end; ++row, at += rowBytes) {
      const from = row * strideBytes;
      rows.set(this.#bytes.subarray(from, from + rowBytes), at);
    }
    return rows.subarray(0, bytes);
  }

  /**
   * The mapped memory itself. Row i begins at i * strideBytes. A write to it ends the process with
   * SIGSEGV. After unmap() it stays mapped until no array over it is in use.
   */
  get unsafeBytes(): Uint8Array {
    this.#checkMapped();
    this.#isShared = true;
    return this.#bytes;
  }

  #checkMapped(): void {
    if (this.#mapping.isUnmapped) throw misuse('the view was unmapped');
  }

  /** Unmaps the memory. Idempotent. */
  unmap(): void {
    if (this.#mapping.isUnmapped) return;
    this.#mapping.isUnmapped = true;
    if (!this.#isShared) {
      forgotten.unregister(this.#bytes.buffer);
      native.lapwing_history_unmap(this.#mapping.view.bytes);
    }
    this.#bytes = NOTHING;
  }

  [dispose](): void {
    this.unmap();
  }
}
