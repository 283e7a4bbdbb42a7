package lapwing;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.UUID;

/**
 * A position on a bus that can be stored, and resumed from with {@link Start#after}.
 *
 * @param journalId id of the journal; null: none
 * @param sessionId id of the session; null: none
 * @param sequence the last record that was taken; 0: no position to continue at
 */
public record Position(UUID journalId, UUID sessionId, long sequence) {
  static Position of(MemorySegment position) {
    return new Position(Text.id(position, C.position.journal_id),
        Text.id(position, C.position.session_id),
        position.get(ValueLayout.JAVA_LONG, C.position.sequence));
  }

  void write(MemorySegment position) {
    Text.putId(position, C.position.journal_id, journalId);
    Text.putId(position, C.position.session_id, sessionId);
    position.set(ValueLayout.JAVA_LONG, C.position.sequence, sequence);
  }
}
