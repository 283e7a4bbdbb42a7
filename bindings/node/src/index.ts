// Lapwing for Node.js. See bindings/node/README.md.
export { version } from './library.js';
export { errorName, isLapwingError, LapwingError, type ErrorCode } from './error.js';
export type { WaitOptions } from './time.js';
export type { Ages, Book, BookKey, BooksInfo, HistoryInfo, Level, Order, PublisherInfo, SubscriberInfo } from './abi.js';
export { Batch, type BatchOptions, type BatchType, type Item, type Records, type State } from './batch.js';
export type {
  Cause, Event, EventType, GapEvent, LostEvent, MissingRange, NoSnapshotEvent, PlainEvent, ResetEvent, SessionEvent,
  SnapshotCompleteEvent,
} from './event.js';
export { Schema, type Column, type Field, type FieldRole, type FieldType, type FieldUnit, type FieldValue } from './schema.js';
export { Publisher, type PublisherOptions, type PublishOptions } from './publisher.js';
export { Start, Subscriber, type ItemsOptions, type SubscriberOptions } from './subscriber.js';
export { Cursor, type Committed, type CursorOptions, type Output } from './cursor.js';
export type { Position } from './position.js';
export { History, HistoryView } from './history.js';
export { Symbols, type SymbolMapping } from './symbols.js';
export { Books, NO_PRICE, type Side } from './books.js';
export { Listener, type ListenerOptions } from './listener.js';
export type { ChannelInfo, ChannelOptions, Message, ReceivedMessage, Role } from './channel.js';
export { Claim, Producer } from './producer.js';
export { Consumer, UnsafeMessage } from './consumer.js';
export { CallError, Duplex, type Incoming, type Reply } from './duplex.js';
export { setLog } from './log.js';
