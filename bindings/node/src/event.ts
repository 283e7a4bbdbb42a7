// Events between records (docs/reference/events.md). Each type of event has its own members.
import { layouts } from './abi.js';
import { decoded, Struct } from './memory.js';

type EventFields = typeof layouts.lapwing_event.fields;
type NameIn<Names> = Names[keyof Names];

/** The type of an event: the values of `item.type`. */
export type EventType = NameIn<EventFields['kind']['names']>;

/** Why records are missing. */
export type Cause = NameIn<EventFields['cause']['names']>;

interface EventOf<Type> {
  readonly type: Type;
  /** The position of the event: see docs/reference/events.md. */
  readonly sequence: bigint;
  /** More details: the reason, the checkpoint, how a session ended. May be empty. */
  readonly text: string;
  readonly journalId: string;
  readonly sessionId: string;
  /** The event in one line, such as 'gap 501..1139 lapped fillable'. */
  toString(): string;
}

/** A range of records that did not come from the ring. */
export interface MissingRange {
  readonly cause: Cause;
  readonly first: bigint;
  /** Inclusive. first - 1 if no record is missing; `text` then describes the problem. */
  readonly last: bigint;
  /** The next sequence that is tried in the ring. */
  readonly resume: bigint;
  /** True if the journal contains the range. */
  readonly fillable: boolean;
}

/** Records are missing. If `fillable` is true and `isSkipped` is false, they follow. */
export interface GapEvent extends EventOf<'gap'>, MissingRange {
  readonly isSkipped: boolean;
}

/** Records that cannot be recovered. */
export interface LostEvent extends EventOf<'lost'>, MissingRange {}

interface Introduction {
  /** Size in bytes of the records that follow. */
  readonly recordBytes: number;
  readonly schemaName: string;
  /** True if Subscriber.schema describes the records that follow. */
  readonly isDescribed: boolean;
  /** True if records of other instruments are omitted. A jump in the sequences is then not a loss. */
  readonly isFiltered: boolean;
}

/** A session begins at `sequence`. This is the first event, and it precedes each later session. */
export interface SessionEvent extends EventOf<'session'>, Introduction {
  readonly isFirstSession: boolean;
}

/** Another history begins at `sequence`. */
export interface ResetEvent extends EventOf<'reset'>, Introduction {}

/** The state is complete as of `sequence`. */
export interface SnapshotCompleteEvent extends EventOf<'snapshot-complete'> {
  /** Fold of the state that was loaded. */
  readonly fold: string;
  readonly stateEntries: bigint;
  /** The gap that the state covers, or undefined at the start. */
  readonly gap: MissingRange | undefined;
}

/** There is no usable checkpoint. The next record is `sequence`. */
export interface NoSnapshotEvent extends EventOf<'no-snapshot'> {
  readonly gap: MissingRange | undefined;
}

/**
 * caught-up: everything up to the join has been delivered. stale: the publisher is alive but silent. publisher-gone: it
 * ended without closing. closed: the session was closed after `sequence`. behind and live: see `behindRecords`.
 * unknown: an event type from a newer library.
 */
export type PlainEvent = {
  [Type in Exclude<EventType, DetailedEvent['type']> | 'unknown']: EventOf<Type>;
}[Exclude<EventType, DetailedEvent['type']> | 'unknown'];

type DetailedEvent = GapEvent | LostEvent | SessionEvent | ResetEvent | SnapshotCompleteEvent | NoSnapshotEvent;

/** An event between records. `switch (event.type)` narrows it to the members of that type. */
export type Event = DetailedEvent | PlainEvent;

const COMMON = ['type', 'sequence', 'text', 'journalId', 'sessionId'];
const MISSING = ['cause', 'first', 'last', 'resume', 'fillable'];
const INTRODUCTION = ['recordBytes', 'schemaName', 'isDescribed', 'isFiltered'];
const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  gap: [...MISSING, 'isSkipped'],
  lost: MISSING,
  session: [...INTRODUCTION, 'isFirstSession'],
  reset: INTRODUCTION,
  'snapshot-complete': ['fold', 'stateEntries', 'gap'],
  'no-snapshot': ['gap'],
};

const picked = (from: Readonly<Record<string, unknown>>, names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, from[name]]));

/** @internal An Event with the lapwing_batch that contained it, which order books need. */
export class BusEvent {
  readonly #batch: Uint8Array;

  private constructor(batch: Uint8Array, members: object) {
    this.#batch = batch;
    Object.assign(this, members);
  }

  /** Returns the event in a lapwing_batch. */
  static of(batch: Struct): Event {
    const raw = decoded(layouts.lapwing_event, batch.view, layouts.lapwing_batch.fields.event.offset);
    const type = (raw['type'] || 'unknown') as Event['type'];
    const gap = raw['cause'] ? picked(raw, MISSING) : undefined;
    const members = picked({ ...raw, type, gap }, [...COMMON, ...(MEMBERS[type] ?? [])]);
    return new BusEvent(batch.bytes.slice(), members) as unknown as Event;
  }

  /** Returns the lapwing_batch of an event, or undefined if `item` is not one from a read. */
  static batchOf(item: unknown): Uint8Array | undefined {
    return item instanceof BusEvent ? item.#batch : undefined;
  }

  toString(): string {
    const event = this as unknown as Event;
    const where = 'first' in event
      ? `${event.first}..${event.last} ${event.cause}${event.fillable ? ' fillable' : ''}`
      : event.sequence;
    return `${event.type} ${where}${event.text && `: ${event.text}`}`;
  }
}
