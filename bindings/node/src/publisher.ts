// Publishes records to a bus.
import { constants, layouts, type PublisherInfo } from './abi.js';
import { check, errorMemory, invalid, isLapwingError, LapwingError } from './error.js';
import { Handle, openInThread } from './handle.js';
import { native } from './library.js';
import { Cell, defaultOptions, Struct } from './memory.js';
import { checkBytes, checkNames, flagOf, wordOf } from './options.js';
import { textOf, type Schema } from './schema.js';
import { checkWait, durationNs, timeoutNs, type WaitOptions } from './time.js';

export interface PublisherOptions {
  /** Directory of the bus. Created if it is missing. */
  directory: string;
  /** Default: the directory's last component. */
  name?: string;
  /** Name of a schema that Lapwing ships, or any other name. Default: that of `schema`, or 'bytes'. */
  schemaName?: string;
  /** A Schema or its text. Default: the shipped schema with the name `schemaName`, or no schema. */
  schema?: Schema | string;
  /** 8 to 4,088. Default: that of the schema, or 56 without a schema. */
  recordBytes?: number;
  /** Slots, a power of two. Default: as many as fit, up to 1,048,576. */
  capacity?: number;
  /** Default: the bus directory if it is on tmpfs, otherwise a directory in /dev/shm. */
  ringDirectory?: string;
  /** Default: <directory>/journal. */
  journalDirectory?: string;
  /** Bytes of slots in a segment, a power of two. Default: 64 MiB. */
  segmentBytes?: number;
  /** Time between syncs of the journal. Default: 10; Infinity: only on request, by flush(). */
  syncIntervalMs?: number;
  /** Journal size above which the oldest segments are removed. Default: no limit. */
  retainBytes?: number | bigint;
  /** A segment is removed once its newest record is older than this. Default: Infinity, never. */
  retainAgeMs?: number;
  /** What to do if the journal is a whole ring behind: wait for the disk, or stop journaling. Default: wait. */
  onJournalLag?: 'wait' | 'shed';
  /** What to do if the journal has failed: continue live, or stop. Default: continue. */
  onJournalFailure?: 'continue' | 'stop';
  /** Raw DBN metadata of the feed. */
  metadata?: Uint8Array;
  /** Id of the records' source, stored in the journal. */
  sourceId?: bigint;
  /** Number of records of the source before the first published one. */
  sourceOffset?: bigint;
  /** Publish without a journal: readers cannot recover lapped records. */
  noJournal?: boolean;
  /** Back the ring with huge pages, or fail. */
  hugePages?: boolean;
  /** Continue sourceId after its records in the journal. */
  resume?: boolean;
  /** Gid of a group whose members may read the bus. */
  group?: number;
  /** Publish times in the records are this publisher's, not the feed's. */
  restamped?: boolean;
}

export interface PublishOptions extends WaitOptions {
  /** Record size in bytes. Default: the record size of the bus. */
  recordBytes?: number;
}

const OPTIONS: readonly (keyof PublisherOptions)[] = [
  'directory', 'name', 'schemaName', 'schema', 'recordBytes', 'capacity', 'ringDirectory', 'journalDirectory',
  'segmentBytes', 'syncIntervalMs', 'retainBytes', 'retainAgeMs', 'onJournalLag', 'onJournalFailure', 'metadata', 'sourceId',
  'sourceOffset', 'noJournal', 'hugePages', 'resume', 'group', 'restamped',
];
const ON_JOURNAL_LAG = { wait: constants.ON_JOURNAL_LAG_WAIT, shed: constants.ON_JOURNAL_LAG_SHED };
const ON_JOURNAL_FAILURE = { continue: constants.ON_JOURNAL_FAILURE_CONTINUE, stop: constants.ON_JOURNAL_FAILURE_STOP };
const OPEN_MS = 10_000;

function encoded(options: PublisherOptions): Struct {
  checkNames('Publisher.open', options, OPTIONS);
  const flags =
    flagOf('noJournal', options.noJournal, constants.PUBLISHER_NO_JOURNAL) |
    flagOf('hugePages', options.hugePages, constants.PUBLISHER_HUGE_PAGES) |
    flagOf('resume', options.resume, constants.PUBLISHER_RESUME) |
    flagOf('restamped', options.restamped, constants.PUBLISHER_RESTAMPED) |
    (options.group !== undefined ? constants.PUBLISHER_GROUP : 0);
  if (options.metadata !== undefined) checkBytes('metadata', options.metadata);
  return defaultOptions(layouts.lapwing_publisher_options, 'lapwing_publisher_options_init').set({
    flags,
    directory: options.directory,
    name: options.name,
    schema_name: options.schemaName,
    schema: textOf('schema', options.schema),
    record_bytes: options.recordBytes,
    group: options.group,
    capacity: options.capacity,
    ring_directory: options.ringDirectory,
    journal_directory: options.journalDirectory,
    segment_bytes: options.segmentBytes,
    sync_interval_ns: durationNs('syncIntervalMs', options.syncIntervalMs),
    retain_bytes: options.retainBytes,
    retain_age_ns: durationNs('retainAgeMs', options.retainAgeMs),
    on_journal_lag: wordOf('onJournalLag', options.onJournalLag, ON_JOURNAL_LAG),
    on_journal_failure: wordOf('onJournalFailure', options.onJournalFailure, ON_JOURNAL_FAILURE),
    metadata: options.metadata,
    metadata_bytes: options.metadata?.length,
    source_id: options.sourceId,
    source_offset: options.sourceOffset,
  });
}

const PUBLISH_NAMES = ['recordBytes'];

export class Publisher extends Handle {
  /** Record size in bytes. */
  readonly recordBytes: number;
  readonly #last = new Cell();
  #head: bigint; // last published sequence; sequences of a session are consecutive

  /**
   * Opens the bus for writing. `timeout` is how long to wait for another publisher to end. Default:
   * 10 s. The kernel may hold the lock of a killed publisher for up to 0.1 s.
   */
  static async open(options: PublisherOptions, waits: WaitOptions = {}): Promise<Publisher> {
    checkWait('Publisher.open', waits);
    const { timeout = OPEN_MS, signal } = waits;
    const struct = encoded(options);
    const cell = await openInThread(
      'lapwing_publisher_open', 'lapwing_publisher_destroy',
      [struct.bytes, timeoutNs(timeout)], signal, struct,
    );
    return new Publisher(cell);
  }

  private constructor(cell: Cell) {
    super(cell, 'publisher', 'lapwing_publisher_destroy', 'lapwing_publisher_interrupt');
    const { recordBytes, first } = this.inspect();
    this.recordBytes = recordBytes;
    this.#head = first - 1n;
  }

  /**
   * Publishes contiguous records in order. Returns the sequence of the last one. Never waits: if the
   * journal is a whole ring behind, fails with would-block, and the error's `last` is the last
   * published sequence.
   */
  tryPublish(records: Uint8Array, options: PublishOptions = {}): bigint {
    this.refuseOverlap();
    checkBytes('records', records);
    checkWait('publish', options, PUBLISH_NAMES);
    const { recordBytes = this.recordBytes } = options;
    const result = native.lapwing_publisher_publish(
      this.pointer, records, countOf(records, recordBytes), recordBytes, 0, this.#last.bytes,
      errorMemory.bytes,
    );
    const last = this.#last.value;
    if (last !== 0n) this.#head = last;
    if (result !== constants.OK) throw Object.assign(errorMemory.thrown(result), { last });
    return last;
  }

  /** The same, but waits if the journal is a whole ring behind. */
  async publish(records: Uint8Array, options: PublishOptions = {}): Promise<bigint> {
    checkWait('publish', options, PUBLISH_NAMES);
    const { timeout = Infinity, signal, recordBytes = this.recordBytes } = options;
    signal?.throwIfAborted();
    const before = this.#head;
    try {
      return this.tryPublish(records, options);
    } catch (error) {
      if (!isLapwingError(error, 'would-block') || timeout <= 0) throw error;
    }
    // Copy the rest, since the caller may reuse its memory during the wait.
    const rest = new Uint8Array(records.subarray(Number(this.#head - before) * recordBytes));
    const last = new Cell();
    try {
      const parameters = [rest, countOf(rest, recordBytes), recordBytes];
      await this.waitInThread('lapwing_publisher_publish', parameters, options, [last.bytes]);
    } catch (error) {
      if (last.value !== 0n) this.#head = last.value;
      const published = this.#head === before ? 0n : this.#head;
      throw error instanceof LapwingError ? Object.assign(error, { last: published }) : error;
    }
    return (this.#head = last.value);
  }

  /** Waits until everything published is durable. Returns the last durable sequence. */
  async flush(options: WaitOptions = {}): Promise<bigint> {
    this.refuseOverlap();
    checkWait('flush', options);
    const durable = new Cell();
    await this.waitInThread('lapwing_publisher_flush', [], options, [durable.bytes]);
    return durable.value;
  }

  inspect(): PublisherInfo {
    this.refuseOverlap();
    const info = new Struct(layouts.lapwing_publisher_info);
    check(native.lapwing_publisher_inspect(this.pointer, info.bytes, errorMemory.bytes));
    return info.read() as unknown as PublisherInfo;
  }

  /**
   * Makes everything durable, records the end of the session and notifies subscribers. Idempotent.
   * After timed-out, the library continues, and a later close() returns the result.
   */
  async close(options: WaitOptions = {}): Promise<void> {
    this.refuseOverlap();
    checkWait('close', options);
    await this.waitInThread('lapwing_publisher_close', [], options);
  }
}

function countOf(records: Uint8Array, recordBytes: number): number {
  const count = records.length / recordBytes;
  if (!Number.isInteger(count)) {
    throw invalid(`${records.length} bytes are not a whole number of records of ${recordBytes} bytes`);
  }
  return count;
}
