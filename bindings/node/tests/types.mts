// Tests the package's types. Compiled but not run: a line below @ts-expect-error must not compile.
import {
  isLapwingError, Subscriber, type Cause, type ErrorCode, type Event, type EventType, type Item, type Schema,
} from 'lapwing';

declare const item: Item;
switch (item.type) {
  case 'records':
  case 'state':
    item.rows satisfies Uint8Array;
    // @ts-expect-error: rows have no cause
    item.cause;
    break;
  case 'session':
  case 'reset':
    item.schemaName satisfies string;
    // @ts-expect-error: a session has no range
    item.first;
    break;
  case 'gap':
  case 'lost':
    [item.first, item.last] satisfies bigint[];
    item.cause satisfies Cause;
    // @ts-expect-error: a gap has no rows
    item.rows;
    break;
  case 'snapshot-complete':
    item.stateEntries satisfies bigint;
    item.gap?.cause satisfies Cause | undefined;
    break;
  case 'no-snapshot':
    item.gap?.first satisfies bigint | undefined;
    break;
  case 'caught-up':
  case 'stale':
  case 'publisher-gone':
  case 'closed':
  case 'behind':
  case 'live':
  case 'unknown':
    [item.sequence, item.text] satisfies [bigint, string];
    // @ts-expect-error: it has no cause
    item.cause;
    break;
  // @ts-expect-error: no item has this type
  case 'event':
    break;
  default:
    item satisfies never; // all types have been handled
}

const everyType: Record<EventType | 'unknown', true> = {} as Record<Event['type'], true>;
everyType satisfies Record<Event['type'], true>;

declare const error: unknown;
if (isLapwingError(error, 'timed-out', 'closed')) {
  error.code satisfies 'timed-out' | 'closed';
  // @ts-expect-error: it is one of the two
  error.code === 'in-use';
} else if (isLapwingError(error)) {
  error.code satisfies ErrorCode;
  error.errno satisfies number;
}
// @ts-expect-error: there is no such code
isLapwingError(error, 'timeout');

declare const subscriber: Subscriber;
subscriber.schema satisfies Schema | undefined;
// @ts-expect-error: schema is a property
subscriber.schema();
