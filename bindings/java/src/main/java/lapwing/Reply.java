package lapwing;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;

/**
 * How a call ended.
 *
 * @param call the number that {@link Duplex#start} gave
 * @param result OK: the other side answered. Else why it did not, TIMED_OUT for example
 * @param isError the answer is an error of the other side's own: {@link #code()}, {@link #text()}
 * @param isLate the call had ended already ({@link ChannelOptions#lateReplies})
 * @param code of an error, the server's to choose
 * @param type of the answer, the server's to choose
 * @param payload of the answer, read-only, in memory of its own
 */
public record Reply(long call, ErrorCode result, boolean isError, boolean isLate, int code, int type,
    MemorySegment payload) {

  static Reply of(ErrorCode result, MemorySegment reply) {
    MemorySegment message = reply.asSlice(C.reply.message, C.message.SIZE);
    return new Reply(reply.get(ValueLayout.JAVA_LONG, C.reply.call), result,
        reply.get(ValueLayout.JAVA_INT, C.reply.is_error) != 0,
        reply.get(ValueLayout.JAVA_INT, C.reply.is_late) != 0,
        reply.get(ValueLayout.JAVA_INT, C.reply.code),
        message.get(ValueLayout.JAVA_INT, C.message.type),
        result == ErrorCode.OK ? Channel.copied(message) : MemorySegment.ofArray(new byte[0]));
  }

  /** The payload as text: of an error, its words. */
  public String text() {
    return new String(payload.toArray(ValueLayout.JAVA_BYTE), StandardCharsets.UTF_8);
  }
}
