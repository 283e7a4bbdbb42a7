package lapwing;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * A call or a one-way message of the other side of a duplex.
 *
 * @param call the number to answer; 0: one-way, no answer is waited for
 * @param type the other side's to choose
 * @param payload read-only, in memory of its own
 */
public record Request(long call, int type, MemorySegment payload) {
  static Request of(MemorySegment request) {
    MemorySegment message = request.asSlice(C.request.message, C.message.SIZE);
    return new Request(request.get(ValueLayout.JAVA_LONG, C.request.call),
        message.get(ValueLayout.JAVA_INT, C.message.type), Channel.copied(message));
  }

  /** It waits for an answer. */
  public boolean isCall() {
    return call != 0;
  }
}
