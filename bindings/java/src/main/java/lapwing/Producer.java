package lapwing;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/**
 * Sends messages to a {@link Consumer}. In place:
 *
 * <pre>{@code
 * MemorySegment room = producer.claim(64, timeout);  // null: no room in that time
 * room.setString(0, "hello");
 * producer.commit(6, type);
 * }</pre>
 *
 * or by copying: {@link #send}.
 */
public final class Producer extends Channel {
  Producer(MemorySegment pointer) {
    super("producer", pointer);
  }

  /** Connects to the process that listens on the path. */
  public static Producer connect(Path path, ChannelOptions options, Duration timeout) {
    return new Producer(connect(path, C.CHANNEL_ROLE_PRODUCER, options, timeout));
  }

  /**
   * Returns room for a message of up to that size in the channel's memory; null: there was no room
   * in that time. The room ends with commit, abort, send, arm or the next claim. It belongs to the
   * calling thread.
   */
  public MemorySegment claim(long bytes, Duration timeout) {
    long timeoutNs = Lapwing.nanos(timeout);
    MemorySegment channel = enter();
    try {
      Waits.begin(timeoutNs);
      lease.end();
      int result = C.channel_claim_now(channel, bytes, 0, out, error);
      if (timeoutNs != 0 && result == C.ERROR_WOULD_BLOCK) {
        result = C.channel_claim(channel, bytes, Waits.first(timeoutNs), out, error);
        if (Waits.goesOn(this, result, timeoutNs)) {
          result = Waits.rest(this, timeoutNs,
              slice -> C.channel_claim(channel, bytes, slice, out, error));
        }
      }
      return LapwingException.came(result, timeoutNs, error)
          ? lease.lend(out.get(ValueLayout.ADDRESS, 0), bytes) : null;
    } finally {
      exit();
    }
  }

  /** Sends the first bytes of the claim. MISUSE if there is no claim or it is shorter. */
  public void commit(long bytes, int type) {
    MemorySegment channel = enter();
    try {
      lease.end();
      LapwingException.check(C.channel_commit(channel, bytes, type, error), error);
    } finally {
      exit();
    }
  }

  /** Abandons the claim. */
  public void abort() {
    MemorySegment channel = enter();
    try {
      lease.end();
      LapwingException.check(C.channel_abort(channel, error), error);
    } finally {
      exit();
    }
  }

  /** Sends a copy of the payload. */
  public void send(int type, MemorySegment payload, Duration timeout) {
    lease.end();
    sendOne(type, payload, timeout);
  }

  /** Sends a copy of the payload. */
  public void send(int type, byte[] payload, Duration timeout) {
    send(type, MemorySegment.ofArray(payload), timeout);
  }

  /**
   * Sends copies in order. On failure, {@link LapwingException#progress()} is the number of
   * messages sent.
   */
  public void send(List<Message> messages, Duration timeout) {
    lease.end();
    sendAll(messages, timeout);
  }

  /** Waits until the consumer has released everything. */
  public void drain(Duration timeout) {
    long timeoutNs = Lapwing.nanos(timeout);
    MemorySegment channel = enter();
    try {
      int result = C.channel_drain(channel, Waits.first(timeoutNs), error);
      if (Waits.goesOn(this, result, timeoutNs)) {
        result = Waits.rest(this, timeoutNs, slice -> C.channel_drain(channel, slice, error));
      }
      LapwingException.check(result, error);
    } finally {
      exit();
    }
  }

  /**
   * For an event loop. True: there is no room for such a message, and {@link #fd()} becomes
   * readable when that may have changed. False: claim at once.
   */
  public boolean armFor(long bytes) {
    lease.end();
    return arm(bytes);
  }
}
