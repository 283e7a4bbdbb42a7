package lapwing;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/**
 * Calls and one-way messages in both directions.
 *
 * <pre>{@code
 * Reply reply = duplex.call(1, payload, Duration.ofSeconds(1));                  // one side
 *
 * for (Request request; (request = duplex.next(Lapwing.FOREVER)) != null; ) {   // the other side
 *   duplex.reply(request, 2, answer, Lapwing.FOREVER);
 * }
 * }</pre>
 *
 * Payloads that arrive are copied, so no memory is borrowed.
 */
public final class Duplex extends Channel {
  private final MemorySegment reply = Text.struct(Arena.ofAuto(), C.reply.SIZE);
  private final MemorySegment request = Text.struct(Arena.ofAuto(), C.request.SIZE);

  Duplex(MemorySegment pointer) {
    super("duplex", pointer);
  }

  /** Connects to the process that listens on the path. */
  public static Duplex connect(Path path, ChannelOptions options, Duration timeout) {
    return new Duplex(connect(path, C.CHANNEL_ROLE_DUPLEX, options, timeout));
  }

  /** Sends a one-way message. */
  public void send(int type, MemorySegment payload, Duration timeout) {
    sendOne(type, payload, timeout);
  }

  /**
   * Sends one-way messages in order. {@link LapwingException#progress()} is the number of messages
   * sent.
   */
  public void send(List<Message> messages, Duration timeout) {
    sendAll(messages, timeout);
  }

  // ---- for the calling side ---------------------------------------------------------------------

  /**
   * Makes a call and waits for its end. Throws TIMED_OUT. Returns an error from the other side as a
   * reply.
   */
  public Reply call(int type, MemorySegment payload, Duration timeout) {
    return finish(start(type, payload, timeout));
  }

  /** The same, with a payload on the heap. */
  public Reply call(int type, byte[] payload, Duration timeout) {
    return call(type, MemorySegment.ofArray(payload), timeout);
  }

  /** Sends a request and returns the number of the call. The reply must arrive within that time. */
  public long start(int type, MemorySegment payload, Duration timeout) {
    MemorySegment channel = enter();
    try {
      write(reply.asSlice(C.reply.message, C.message.SIZE), type, staged(payload));
      long timeoutNs = Lapwing.nanos(timeout);
      Waits.begin(timeoutNs);
      LapwingException.check(interruptibly(() -> C.channel_start(channel,
          reply.asSlice(C.reply.message, C.message.SIZE), timeoutNs, out, error)), error);
      return out.get(ValueLayout.JAVA_LONG, 0);
    } finally {
      exit();
    }
  }

  /** Waits until that call ends. Throws TIMED_OUT at the call's own timeout. */
  public Reply finish(long call) {
    MemorySegment channel = enter();
    try {
      LapwingException.check(
          interruptibly(() -> C.channel_finish(channel, call, reply, error)), error);
      return Reply.of(ErrorCode.OK, reply);
    } finally {
      exit();
    }
  }

  /**
   * Returns the next call that ends, with any result ({@link Reply#result()}), or a late reply.
   * null: none ended in that time. MISUSE: no call is pending.
   */
  public Reply finishAny(Duration timeout) {
    long timeoutNs = Lapwing.nanos(timeout);
    MemorySegment channel = enter();
    try {
      reply.set(ValueLayout.JAVA_LONG, C.reply.call, 0L);
      int result = C.channel_finish_any(channel, Waits.first(timeoutNs), reply, error);
      if (reply.get(ValueLayout.JAVA_LONG, C.reply.call) == 0
          && Waits.goesOn(this, result, timeoutNs)) {
        result = finishRest(channel, timeoutNs);
      }
      if (reply.get(ValueLayout.JAVA_LONG, C.reply.call) != 0) {
        return Reply.of(ErrorCode.of(result), reply);
      }
      return LapwingException.came(result, timeoutNs, error) ? Reply.of(ErrorCode.OK, reply) : null;
    } finally {
      exit();
    }
  }

  // The result of a call that timed out is also TIMED_OUT, but then the reply contains its number.
  private int finishRest(MemorySegment channel, long timeoutNs) {
    int[] ended = {C.ERROR_TIMED_OUT};
    int result = Waits.rest(this, timeoutNs, slice -> {
      ended[0] = C.channel_finish_any(channel, slice, reply, error);
      return reply.get(ValueLayout.JAVA_LONG, C.reply.call) != 0 ? C.OK : ended[0];
    });
    return result == C.OK ? ended[0] : result;
  }

  /** Ends a call without a reply. */
  public void cancel(long call) {
    MemorySegment channel = enter();
    try {
      LapwingException.check(C.channel_cancel(channel, call, error), error);
    } finally {
      exit();
    }
  }

  // ---- for the answering side -------------------------------------------------------------------

  /** Returns the other side's next call or one-way message; null: none arrived in that time. */
  public Request next(Duration timeout) {
    long timeoutNs = Lapwing.nanos(timeout);
    MemorySegment channel = enter();
    try {
      int result = C.channel_next(channel, Waits.first(timeoutNs), request, error);
      if (Waits.goesOn(this, result, timeoutNs)) {
        result = Waits.rest(this, timeoutNs, slice -> C.channel_next(channel, slice, request, error));
      }
      return LapwingException.came(result, timeoutNs, error) ? Request.of(request) : null;
    } finally {
      exit();
    }
  }

  /**
   * Answers a call that next() returned, in any order. MISUSE: it is not a call, or was already
   * answered.
   */
  public void reply(Request request, int type, MemorySegment payload, Duration timeout) {
    answer(request, false, 0, type, payload, timeout);
  }

  /** The same, with a payload on the heap. */
  public void reply(Request request, int type, byte[] payload, Duration timeout) {
    reply(request, type, MemorySegment.ofArray(payload), timeout);
  }

  /** Answers a call with an error defined by this program. */
  public void replyError(Request request, int code, String text, Duration timeout) {
    answer(request, true, code, 0,
        MemorySegment.ofArray(text.getBytes(StandardCharsets.UTF_8)), timeout);
  }

  private void answer(Request request, boolean isError, int code, int type, MemorySegment payload,
      Duration timeout) {
    long timeoutNs = Lapwing.nanos(timeout);
    MemorySegment channel = enter();
    try {
      reply.set(ValueLayout.JAVA_INT, C.reply.is_error, isError ? 1 : 0);
      reply.set(ValueLayout.JAVA_INT, C.reply.is_late, 0);
      reply.set(ValueLayout.JAVA_INT, C.reply.code, code);
      reply.set(ValueLayout.JAVA_LONG, C.reply.call, request.call());
      write(reply.asSlice(C.reply.message, C.message.SIZE), type, staged(payload));
      int result = C.channel_reply(channel, reply, Waits.first(timeoutNs), error);
      if (Waits.goesOn(this, result, timeoutNs)) {
        result = Waits.rest(this, timeoutNs, slice -> C.channel_reply(channel, reply, slice, error));
      }
      LapwingException.check(result, error);
    } finally {
      exit();
    }
  }

  /**
   * For an event loop. True: nothing has arrived, and {@link #fd()} becomes readable when that may
   * have changed. False: call {@link #next} and {@link #finishAny} at once.
   */
  public boolean arm() {
    return arm(0);
  }
}
