// A position on disk: how far a program has processed a bus.
import { constants } from './abi.js';
import { check, errorMemory, ErrorMemory } from './error.js';
import { Handle, openInThread } from './handle.js';
import { native } from './library.js';
import { Cell } from './memory.js';
import { newPosition, readPosition, writePosition, type Position } from './position.js';
import { checkNames, checkText, flagOf } from './options.js';
import { checkWait, timeoutNs, type WaitOptions } from './time.js';

export interface CursorOptions extends WaitOptions {
  /** Commits survive a power cut. Each commit costs a sync. */
  durable?: boolean;
}

/** Where the program's output ended at a commit: the length and number of its file. */
export interface Output {
  bytes?: bigint;
  file?: bigint;
}

export interface Committed {
  readonly position: Position;
  readonly output: Required<Output>;
}

const OPEN_MS = 1000;

export class Cursor extends Handle {
  /**
   * Locks and reads the file, and creates it if it is missing. Default timeout: 1 s. The kernel may hold the lock of a
   * killed process for up to 0.1 s.
   */
  static async open(path: string, options: CursorOptions = {}): Promise<Cursor> {
    checkText('path', path);
    checkWait('Cursor.open', options, ['durable']);
    const { durable, timeout = OPEN_MS, signal } = options;
    const flags = flagOf('durable', durable, constants.CURSOR_DURABLE);
    const cell = await openInThread(
      'lapwing_cursor_open', 'lapwing_cursor_destroy', [path, flags, timeoutNs(timeout)], signal,
    );
    return new Cursor(cell);
  }

  private constructor(cell: Cell) {
    super(cell, 'cursor', 'lapwing_cursor_destroy');
  }

  /** Returns the last commit, or undefined if there is none. */
  position(): Committed | undefined {
    this.refuseOverlap();
    const position = newPosition();
    const [bytes, file] = [new Cell(), new Cell()];
    const result = native.lapwing_cursor_position(
      this.pointer, position.bytes, bytes.bytes, file.bytes, errorMemory.bytes,
    );
    if (result === constants.ERROR_NOT_FOUND) return undefined;
    check(result);
    return { position: readPosition(position), output: { bytes: bytes.value, file: file.value } };
  }

  /** Records that everything up to `position` has been processed. Writes the file on another thread. */
  async commit(position: Position, output: Output = {}): Promise<void> {
    this.refuseOverlap();
    checkNames('commit', output, ['bytes', 'file']);
    const { bytes = 0n, file = 0n } = output;
    const struct = newPosition();
    writePosition(struct, 0, position);
    const error = new ErrorMemory();
    check(await this.inThread('lapwing_cursor_commit', [struct.bytes, bytes, file, error.bytes]), error);
  }
}
