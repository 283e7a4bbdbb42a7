package lapwing;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/**
 * One side of a channel: messages to and from one other process, in order and never overwritten.
 * Either side may listen ({@link Listener}), and the other connects.
 *
 * <p>Threads: any thread, but only one at a time. {@link #interrupt()} and {@link #close()} may be
 * called at any time. Borrowed memory (a claim, or messages from a peek) belongs to the thread that
 * borrowed it.
 */
public abstract sealed class Channel extends Handle permits Producer, Consumer, Duplex {
  /** The memory that the program has borrowed from this side. */
  final Lease lease = new Lease(this);

  private long messagesSent; // by the current send
  private MemorySegment staging = MemorySegment.NULL; // copy of a payload, for one call

  Channel(String what, MemorySegment pointer) {
    super(what, pointer, C::channel_interrupt, C::channel_destroy);
  }

  static MemorySegment connect(Path path, int role, ChannelOptions options, Duration timeout) {
    long timeoutNs = Lapwing.nanos(timeout);
    return Waits.inOwnThread((arena, connected, error) -> C.channel_connect(Text.in(arena, path),
        role, options.write(arena), timeoutNs, connected, error), C::channel_destroy);
  }

  public ChannelInfo inspect() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment info = Text.struct(arena, C.channel_info.SIZE);
      MemorySegment channel = enter();
      try {
        LapwingException.check(C.channel_inspect(channel, info, error), error);
      } finally {
        exit();
      }
      return ChannelInfo.of(info);
    }
  }

  /**
   * For an event loop in native code: the descriptor to poll after {@code arm}. CLOSED: the channel
   * was closed.
   */
  public int fd() {
    MemorySegment channel = enter();
    try {
      LapwingException.check(C.channel_fd(channel, out, error), error);
      return out.get(ValueLayout.JAVA_INT, 0);
    } finally {
      exit();
    }
  }

  final boolean arm(long bytes) {
    MemorySegment channel = enter();
    try {
      LapwingException.check(C.channel_arm(channel, bytes, out, error), error);
      return out.get(ValueLayout.JAVA_INT, 0) != 0;
    } finally {
      exit();
    }
  }

  /** Ends the current wait, or the next if there is none, with {@link ErrorCode#INTERRUPTED}. */
  public void interrupt() {
    interruptWait();
  }

  /**
   * Ends the channel and notifies the other side at once. Borrowed memory stays valid until it is
   * released. Idempotent.
   */
  public void end() {
    MemorySegment channel = enter();
    try {
      LapwingException.check(C.channel_close(channel, error), error);
    } finally {
      exit();
    }
  }

  /** Ends the channel and frees everything. */
  @Override
  public void close() {
    lease.endIfMine();
    super.close();
  }

  // ---- messages for C ---------------------------------------------------------------------------

  /** Copies messages into the channel and returns their number. */
  final long sendAll(List<Message> messages, Duration timeout) {
    int count = messages.size(); // fixed here, even if another thread adds to the list
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment array = arena.allocate(count * C.message.SIZE, 8);
      for (int i = 0; i < count; i++) {
        Message message = messages.get(i);
        MemorySegment payload = message.payload();
        write(array.asSlice(i * C.message.SIZE, C.message.SIZE), message.type(),
            arena.allocate(payload.byteSize(), 8).copyFrom(payload));
      }
      return send(array, count, timeout);
    }
  }

  /** The same for one message, without an allocation. */
  final void sendOne(int type, MemorySegment payload, Duration timeout) {
    MemorySegment channel = enter();
    try {
      write(out, type, staged(payload));
      sendEntered(channel, out, 1, timeout);
    } finally {
      exit();
    }
  }

  private long send(MemorySegment array, long count, Duration timeout) {
    MemorySegment channel = enter();
    try {
      return sendEntered(channel, array, count, timeout);
    } finally {
      exit();
    }
  }

  private long sendEntered(MemorySegment channel, MemorySegment array, long count,
      Duration timeout) {
    long timeoutNs = Lapwing.nanos(timeout);
    messagesSent = 0;
    int result = sendFrom(channel, array, count, Waits.first(timeoutNs));
    if (Waits.goesOn(this, result, timeoutNs)) {
      result = Waits.rest(this, timeoutNs, slice -> sendFrom(channel, array, count, slice));
    }
    if (result != C.OK) {
      throw LapwingException.of(result, error, messagesSent);
    }
    return messagesSent;
  }

  /** Sends for one time slice, after which some of the messages may have been sent. */
  private int sendFrom(MemorySegment channel, MemorySegment array, long count, long timeoutNs) {
    MemorySegment sent = out.asSlice(C.message.SIZE);
    sent.set(ValueLayout.JAVA_LONG, 0, 0L);
    int result = C.channel_send(channel, array.asSlice(messagesSent * C.message.SIZE),
        count - messagesSent, timeoutNs, sent, error);
    messagesSent += sent.get(ValueLayout.JAVA_LONG, 0);
    return result;
  }

  static void write(MemorySegment message, int type, MemorySegment payload) {
    message.set(ValueLayout.ADDRESS, C.message.payload, payload);
    message.set(ValueLayout.JAVA_LONG, C.message.bytes, payload.byteSize());
    message.set(ValueLayout.JAVA_INT, C.message.type, type);
  }

  /** Copies the payload into memory that stays valid until the next call. Call it after enter(). */
  final MemorySegment staged(MemorySegment payload) {
    if (staging.byteSize() < payload.byteSize()) {
      staging = Arena.ofAuto().allocate(payload.byteSize(), 8);
    }
    MemorySegment.copy(payload, 0, staging, 0, payload.byteSize());
    return staging.asSlice(0, payload.byteSize());
  }

  /** Copies a payload that the library keeps only for a limited time. */
  static MemorySegment copied(MemorySegment message) {
    byte[] bytes = message.get(ValueLayout.ADDRESS, C.message.payload)
        .reinterpret(message.get(ValueLayout.JAVA_LONG, C.message.bytes))
        .toArray(ValueLayout.JAVA_BYTE);
    return MemorySegment.ofArray(bytes).asReadOnly();
  }
}
