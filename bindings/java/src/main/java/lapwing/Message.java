package lapwing;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * A message: bytes and a type.
 *
 * @param type chosen by the sender
 * @param payload read-only if it came from a channel
 */
public record Message(int type, MemorySegment payload) {
  /** Returns a message with bytes on the heap. */
  public static Message of(int type, byte[] payload) {
    return new Message(type, MemorySegment.ofArray(payload));
  }

  /** Returns a copy of the payload. */
  public byte[] toArray() {
    return payload.toArray(ValueLayout.JAVA_BYTE);
  }

  /** Returns a copy of the message in its own memory. */
  public Message copy() {
    return new Message(type, MemorySegment.ofArray(toArray()).asReadOnly());
  }
}
