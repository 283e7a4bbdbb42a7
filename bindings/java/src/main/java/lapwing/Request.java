package lapwing;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * A call or a one-way message from the other side of a duplex.
 *
 * @param call the number of the call; 0: one-way, no answer is expected
 * @param type chosen by the other side
 * @param payload read-only, in its own memory
 */
public record Request(long call, int type, MemorySegment payload) {
  static Request of(MemorySegment request) {
    MemorySegment message = request.asSlice(C.request.message, C.message.SIZE);
    return new Request(request.get(ValueLayout.JAVA_LONG, C.request.call),
        message.get(ValueLayout.JAVA_INT, C.message.type), Channel.copied(message));
  }

  /** Whether an answer is expected. */
  public boolean isCall() {
    return call != 0;
  }
}
