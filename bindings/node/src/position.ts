// A position from which a subscriber can resume. It can be stored as JSON or in a cursor.
import { layouts, type Position as PositionFields } from './abi.js';
import { invalid } from './error.js';
import { idBytes, Struct } from './memory.js';

export type Position = PositionFields;

const { journal_id: JOURNAL, session_id: SESSION, sequence: SEQUENCE } = layouts.lapwing_position.fields;

/** Writes a position at `offset` in a struct. */
export function writePosition(struct: Struct, offset: number, position: Position): void {
  if (!position) throw invalid('there is no position; take one of a subscriber or of a cursor');
  struct.bytes.set(idBytes(position.journalId), offset + JOURNAL.offset);
  struct.bytes.set(idBytes(position.sessionId), offset + SESSION.offset);
  struct.view.setBigUint64(offset + SEQUENCE.offset, BigInt(position.sequence), true);
}

export const newPosition = () => new Struct(layouts.lapwing_position);
export const readPosition = (struct: Struct) => struct.read() as unknown as Position;
