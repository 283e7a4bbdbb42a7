package lapwing;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Waits for several sources on one thread: subscribers, channels, listeners, descriptors, timers.
 *
 * <pre>{@code
 * try (WaitSet<Subscriber> set = WaitSet.open()) {
 *   set.add(es, es);
 *   set.add(nq, nq);
 *   for (;;) {
 *     Subscriber ready = set.await(Lapwing.FOREVER).token();
 *     Item item = ready.read(batch, Lapwing.NOW);  // null: there was less than a record
 *   }
 * }
 * }</pre>
 *
 * <p>A wait takes nothing from a source: call the source with {@link Lapwing#NOW}. A source with
 * more items is ready again. A source that has ended stays ready until it is removed. Sources take
 * turns.
 *
 * <p>The set does not own its sources. A closed source leaves the set.
 *
 * <p>Threads: any thread may use the set and its sources, but only one at a time. {@link
 * #interrupt()} and {@link #close()} of the set or of a source may be called at any time. A call on
 * a source during a call on its set throws MISUSE, and vice versa.
 *
 * @param <T> type of the tokens, with which the program identifies a source that is ready
 */
public final class WaitSet<T> extends Handle {
  /** Descriptor event: data can be read. */
  public static final int POLLIN = 1;

  /** Descriptor event: urgent data is available. */
  public static final int POLLPRI = 2;

  /** Descriptor event: data can be written. */
  public static final int POLLOUT = 4;

  /** Descriptor event: the other side will not write any more. */
  public static final int POLLRDHUP = 0x2000;

  /** The kind of a source. */
  public enum Kind {
    SUBSCRIBER,
    /** A subscriber that conflates. */
    CONFLATED,
    CONSUMER, PRODUCER, DUPLEX, LISTENER,
    /** A descriptor. */
    FD,
    TIMER;

    /** Returns a name such as "subscriber". */
    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /** A source of a set. Events and expirations are as of the last time that it was ready. */
  public static final class Source<T> {
    private final Kind kind;
    private final Handle handle; // null: a descriptor or a timer
    private final T token;
    private long number; // its token in C
    private long id; // its id in C
    private int events;
    private long expirations;

    Source(Kind kind, Handle handle, T token) {
      this.kind = kind;
      this.handle = handle;
      this.token = token;
    }

    public Kind kind() {
      return kind;
    }

    /** The token that was passed when it was added. */
    public T token() {
      return token;
    }

    /** The events of a descriptor, as in poll(2). */
    public int events() {
      return events;
    }

    /** The number of expirations of a timer since it was last ready. */
    public long expirations() {
      return expirations;
    }

    private boolean isClosed() {
      return handle != null && handle.isClosed();
    }
  }

  /** A C function that adds a source with a number, and writes its id to `out`. */
  private interface Add {
    int add(MemorySegment set, MemorySegment source, long number);
  }

  private final Gate gate;
  private final MemorySegment ready = Text.struct(Arena.ofAuto(), C.ready.SIZE);
  private final Map<Long, Source<T>> sources = new HashMap<>(); // by their numbers
  private final List<Producer> producers = new ArrayList<>();
  private long lastNumber;

  private WaitSet(MemorySegment pointer, Gate gate) {
    super("wait set", pointer, C::wait_set_interrupt,
        where -> gate.end(() -> C.wait_set_destroy(where)));
    this.gate = gate;
  }

  /** Opens a set that waits in backoff mode. */
  public static <T> WaitSet<T> open() {
    return open(WaitMode.BACKOFF);
  }

  /** Opens a set. A subscriber that waits in busy mode requires a set in busy mode. */
  public static <T> WaitSet<T> open(WaitMode wait) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment error = LapwingException.memory(arena);
      MemorySegment opened = arena.allocate(ValueLayout.ADDRESS);
      LapwingException.check(C.wait_set_open(wait.number, opened, error), error);
      return new WaitSet<>(opened.get(ValueLayout.ADDRESS, 0), new Gate());
    }
  }

  // ---- sources ----------------------------------------------------------------------------------

  /**
   * Ready when there is a record, an event or a state entry. MISUSE: it is already in a set.
   */
  public Source<T> add(Subscriber subscriber, T token) {
    return add(subscriber.conflates ? Kind.CONFLATED : Kind.SUBSCRIBER, subscriber, token,
        (set, source, number) -> C.wait_set_add_subscriber(set, source, number, out, error));
  }

  /** Ready when there is a message. MISUSE: it is already in a set. */
  public Source<T> add(Consumer consumer, T token) {
    return addChannel(Kind.CONSUMER, consumer, 0, token);
  }

  /**
   * Ready when there is a call, message or reply, or a call has timed out. MISUSE: it is already in
   * a set.
   */
  public Source<T> add(Duplex duplex, T token) {
    return addChannel(Kind.DUPLEX, duplex, 0, token);
  }

  /**
   * Ready when there is room for a message of that size. A wait ends a claim. MISUSE: it is already
   * in a set.
   */
  public Source<T> add(Producer producer, long bytes, T token) {
    Source<T> source = addChannel(Kind.PRODUCER, producer, bytes, token);
    producers.add(producer);
    return source;
  }

  /** Ready when accept or tend has something to do. MISUSE: it is already in a set. */
  public Source<T> add(Listener listener, T token) {
    return add(Kind.LISTENER, listener, token,
        (set, source, number) -> C.wait_set_add_listener(set, source, number, out, error));
  }

  /** Ready when one of the given poll(2) events has occurred. Remove it before you close it. */
  public Source<T> addFd(int fd, int events, T token) {
    return add(Kind.FD, null, token,
        (set, source, number) -> C.wait_set_add_fd(set, fd, events, number, out, error));
  }

  /**
   * Adds a timer. It is ready after `in`, and then at intervals of `every`; zero: only once. If
   * `in` is {@link Lapwing#NEVER}, the timer starts with {@link #setTimer}.
   */
  public Source<T> addTimer(Duration in, Duration every, T token) {
    long inNs = Lapwing.nanos(in);
    long everyNs = Lapwing.nanos(every);
    return add(Kind.TIMER, null, token,
        (set, source, number) -> C.wait_set_add_timer(set, inNs, everyNs, number, out, error));
  }

  /** Restarts a timer. NOT_FOUND: it is not in the set. */
  public void setTimer(Source<T> timer, Duration in, Duration every) {
    long inNs = Lapwing.nanos(in);
    long everyNs = Lapwing.nanos(every);
    MemorySegment set = enterClosed();
    try {
      LapwingException.check(
          C.wait_set_set_timer(set, isHere(timer) ? timer.id : 0, inNs, everyNs, error), error);
    } finally {
      exitClosed();
    }
  }

  /** Removes a source. Returns false if it is not, or no longer, in the set. */
  public boolean remove(Source<T> source) {
    MemorySegment set = enterClosed();
    try {
      return isHere(source) && removeEntered(set, source);
    } finally {
      exitClosed();
    }
  }

  private boolean isHere(Source<T> source) {
    return sources.get(source.number) == source;
  }

  private boolean removeEntered(MemorySegment set, Source<T> source) {
    sources.remove(source.number);
    producers.remove(source.handle);
    int result = C.wait_set_remove(set, source.id, error);
    if (source.handle != null) {
      source.handle.gate(null);
    }
    if (result == C.ERROR_NOT_FOUND) { // it was closed
      return false;
    }
    LapwingException.check(result, error);
    return true;
  }

  private Source<T> addChannel(Kind kind, Channel channel, long bytes, T token) {
    return add(kind, channel, token, (set, source, number) ->
        C.wait_set_add_channel(set, source, bytes, number, out, error));
  }

  private Source<T> add(Kind kind, Handle handle, T token, Add add) {
    MemorySegment set = enterClosed();
    try {
      sources.values().removeIf(Source::isClosed);
      producers.removeIf(Producer::isClosed);
      Source<T> source = new Source<>(kind, handle, token);
      if (handle == null) {
        return added(add.add(set, MemorySegment.NULL, lastNumber + 1), source);
      }
      if (handle.isInSet()) {
        throw new LapwingException(ErrorCode.MISUSE, "the " + handle.what()
            + " cannot be added: it is in a wait set. Remove it there first.");
      }
      MemorySegment pointer = handle.enter();
      try {
        added(add.add(set, pointer, lastNumber + 1), source);
        handle.gate(gate);
        return source;
      } finally {
        handle.exit();
      }
    } finally {
      exitClosed();
    }
  }

  private Source<T> added(int result, Source<T> source) {
    LapwingException.check(result, error);
    source.number = ++lastNumber;
    source.id = out.get(ValueLayout.JAVA_LONG, 0);
    sources.put(source.number, source);
    return source;
  }

  /** Begins a call that uses the sources in C. */
  private MemorySegment enterClosed() {
    MemorySegment set = enter();
    try {
      gate.close();
    } catch (RuntimeException e) {
      exit();
      throw e;
    }
    return set;
  }

  private void exitClosed() {
    gate.open();
    exit();
  }

  // ---- waiting ----------------------------------------------------------------------------------

  /** Returns the next source that is ready; null: none was ready in that time. */
  public Source<T> await(Duration timeout) {
    long timeoutNs = Lapwing.nanos(timeout);
    MemorySegment set = enter();
    try {
      for (int i = 0; i < producers.size(); i++) {
        producers.get(i).lease.endIfMine(); // ends a claim, which C abandons
      }
      int result = waitOnce(set, Waits.first(timeoutNs));
      if (Waits.goesOn(this, result, timeoutNs)) {
        result = Waits.rest(this, timeoutNs, slice -> waitOnce(set, slice));
      }
      if (!LapwingException.came(result, timeoutNs, error)) {
        return null;
      }
      Source<T> source = sourceReady();
      source.events = ready.get(ValueLayout.JAVA_INT, C.ready.events);
      source.expirations = ready.get(ValueLayout.JAVA_LONG, C.ready.expirations);
      return source;
    } finally {
      exit();
    }
  }

  /** Waits once. Closed sources are destroyed between two of these waits. */
  private int waitOnce(MemorySegment set, long timeoutNs) {
    gate.close();
    try {
      for (;;) {
        int result = C.wait_set_wait(set, ready, timeoutNs, error);
        if (result != C.OK || !sourceReady().isClosed()) {
          return result;
        }
        removeEntered(set, sourceReady()); // closed, but its memory is still borrowed
      }
    } finally {
      gate.open();
    }
  }

  private Source<T> sourceReady() {
    return sources.get(ready.get(ValueLayout.JAVA_LONG, C.ready.token));
  }

  /** Ends the current wait, or the next if there is none, with {@link ErrorCode#INTERRUPTED}. */
  public void interrupt() {
    interruptWait();
  }
}
