package lapwing;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;

/**
 * The end of a call.
 *
 * @param call the number that {@link Duplex#start} returned
 * @param result OK if the other side answered; otherwise the reason, for example TIMED_OUT
 * @param isError true if the other side returned an error: {@link #code()}, {@link #text()}
 * @param isLate the call had already ended ({@link ChannelOptions#lateReplies})
 * @param code number of the error, chosen by the server
 * @param type type of the answer, chosen by the server
 * @param payload payload of the answer, read-only, in its own memory
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

  /** The payload as text. For an error, this is its message. */
  public String text() {
    return new String(payload.toArray(ValueLayout.JAVA_BYTE), StandardCharsets.UTF_8);
  }
}
