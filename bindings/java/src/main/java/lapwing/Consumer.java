package lapwing;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;

/**
 * Receives the messages from a {@link Producer}. In place:
 *
 * <pre>{@code
 * Messages messages = consumer.peek(64, timeout);  // empty: none came in that time
 * for (Message message : messages) process(message.type(), message.payload());
 * consumer.release(messages.size());
 * }</pre>
 *
 * or by copying: {@link #receive}.
 */
public final class Consumer extends Channel {
  private Messages messages = new Messages(lease, 1);

  Consumer(MemorySegment pointer) {
    super("consumer", pointer);
  }

  /** Connects to the process that listens on the path. */
  public static Consumer connect(Path path, ChannelOptions options, Duration timeout) {
    return new Consumer(connect(path, C.CHANNEL_ROLE_CONSUMER, options, timeout));
  }

  /**
   * Borrows up to `max` messages, beginning with the first unreleased one. The list belongs to this
   * consumer and is the same for every peek. Empty: none arrived in that time.
   */
  public Messages peek(int max, Duration timeout) {
    long timeoutNs = Lapwing.nanos(timeout);
    MemorySegment channel = enter();
    try {
      return peekEntered(channel, max, timeoutNs);
    } finally {
      exit();
    }
  }

  private Messages peekEntered(MemorySegment channel, int max, long timeoutNs) {
    if (max < 1) {
      throw new LapwingException(ErrorCode.INVALID_ARGUMENT,
          "a peek of " + max + " messages; it gives 1 or more");
    }
    Waits.begin(timeoutNs);
    messages.count(0);
    if (messages.max() < max) {
      messages = new Messages(lease, max);
    }
    int result = C.channel_peek_now(channel, messages.array, max, 0, out, error);
    if (timeoutNs != 0 && result == C.ERROR_WOULD_BLOCK) {
      MemorySegment array = messages.array;
      result = C.channel_peek(channel, array, max, Waits.first(timeoutNs), out, error);
      if (Waits.goesOn(this, result, timeoutNs)) {
        result = Waits.rest(this, timeoutNs,
            slice -> C.channel_peek(channel, array, max, slice, out, error));
      }
    }
    if (LapwingException.came(result, timeoutNs, error)) {
      messages.count((int) out.get(ValueLayout.JAVA_LONG, 0));
    }
    return messages;
  }

  /**
   * Releases the first `count` messages of the last peek. The views of all its messages end; the
   * next peek returns the others again. MISUSE: there were fewer messages, another thread peeked,
   * or an operation still uses a view. In these cases nothing is released.
   */
  public void release(long count) {
    if (isClosed()) {
      lease.endIfMine(); // memory that close() could not release
    }
    MemorySegment channel = enter();
    try {
      releaseEntered(channel, count);
    } finally {
      exit();
    }
  }

  private void releaseEntered(MemorySegment channel, long count) {
    lease.end();
    messages.count(0);
    LapwingException.check(C.channel_release(channel, count, error), error);
  }

  /** Copies the next message and releases it; null: none arrived in that time. */
  public Message receive(Duration timeout) {
    long timeoutNs = Lapwing.nanos(timeout);
    MemorySegment channel = enter();
    try {
      if (peekEntered(channel, 1, timeoutNs).isEmpty()) {
        return null;
      }
      Message message = new Message(messages.type(0), copied(messages.array));
      releaseEntered(channel, 1);
      return message;
    } finally {
      exit();
    }
  }

  /**
   * For an event loop. True: nothing has arrived, and {@link #fd()} becomes readable when that may
   * have changed. False: peek at once.
   */
  public boolean arm() {
    return arm(0);
  }
}
