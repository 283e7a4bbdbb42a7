package lapwing;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * Bytes with a number.
 *
 * @param type the sender's to choose
 * @param payload read-only where it came from a channel
 */
public record Message(int type, MemorySegment payload) {
  /** A message of bytes on the heap. */
  public static Message of(int type, byte[] payload) {
    return new Message(type, MemorySegment.ofArray(payload));
  }

  /** A copy of the payload. */
  public byte[] toArray() {
    return payload.toArray(ValueLayout.JAVA_BYTE);
  }

  /** The same message in memory of its own. */
  public Message copy() {
    return new Message(type, MemorySegment.ofArray(toArray()).asReadOnly());
  }
}
