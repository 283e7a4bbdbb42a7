package lapwing;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;

/**
 * Listens on a path for the other sides of channels.
 *
 * <p>Threads: any thread, but only one at a time. {@link #interrupt()} and {@link #close()} may be
 * called at any time.
 */
public final class Listener extends Handle {
  private Listener(MemorySegment pointer) {
    super("listener", pointer, C::listener_interrupt, C::listener_destroy);
  }

  /** Listens for peers of this user and root. IN_USE: another process listens there. */
  public static Listener open(Path path) {
    return open(path, ChannelOptions.DEFAULTS);
  }

  /** Opens a listener. It uses only the option {@link ChannelOptions#peerUid}. */
  public static Listener open(Path path, ChannelOptions options) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment error = LapwingException.memory(arena);
      MemorySegment opened = arena.allocate(ValueLayout.ADDRESS);
      LapwingException.check(
          C.listener_open(Text.in(arena, path), options.write(arena), opened, error), error);
      return new Listener(opened.get(ValueLayout.ADDRESS, 0));
    }
  }

  /** Replaces the process that listens there now, as soon as that process accepts or tends. */
  public static Listener takeOver(Path path, ChannelOptions options, Duration timeout) {
    long timeoutNs = Lapwing.nanos(timeout);
    return new Listener(Waits.inOwnThread((arena, opened, error) -> C.listener_take_over(
        Text.in(arena, path), options.write(arena), timeoutNs, opened, error),
        C::listener_destroy));
  }

  /** Serves the next peer. This side sends. null: none arrived in time. CLOSED: handed over. */
  public Producer acceptProducer(ChannelOptions options, Duration timeout) {
    MemorySegment channel = accept(C.CHANNEL_ROLE_PRODUCER, options, timeout);
    return channel == null ? null : new Producer(channel);
  }

  /** Serves the next peer. This side receives. null: none arrived in time. */
  public Consumer acceptConsumer(ChannelOptions options, Duration timeout) {
    MemorySegment channel = accept(C.CHANNEL_ROLE_CONSUMER, options, timeout);
    return channel == null ? null : new Consumer(channel);
  }

  /** Serves the next peer with a duplex; null: none arrived in time. */
  public Duplex acceptDuplex(ChannelOptions options, Duration timeout) {
    MemorySegment channel = accept(C.CHANNEL_ROLE_DUPLEX, options, timeout);
    return channel == null ? null : new Duplex(channel);
  }

  private MemorySegment accept(int role, ChannelOptions options, Duration timeout) {
    long timeoutNs = Lapwing.nanos(timeout);
    MemorySegment listener = enter();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment given = options.write(arena);
      int result =
          C.listener_accept(listener, role, given, Waits.first(timeoutNs), out, error);
      if (Waits.goesOn(this, result, timeoutNs)) {
        result = Waits.rest(this, timeoutNs,
            slice -> C.listener_accept(listener, role, given, slice, out, error));
      }
      return LapwingException.came(result, timeoutNs, error)
          ? out.get(ValueLayout.ADDRESS, 0) : null;
    } finally {
      exit();
    }
  }

  /**
   * Drops clients that stay silent, and lets a successor take over. Call it while serving a peer.
   * Never waits. CLOSED: handed over.
   */
  public void tend() {
    MemorySegment listener = enter();
    try {
      LapwingException.check(C.listener_tend(listener, error), error);
    } finally {
      exit();
    }
  }

  /**
   * For an event loop in native code. The descriptor is readable when the call that was made last,
   * accept or tend, has something to do. CLOSED: handed over.
   */
  public int fd() {
    MemorySegment listener = enter();
    try {
      LapwingException.check(C.listener_fd(listener, out, error), error);
      return out.get(ValueLayout.JAVA_INT, 0);
    } finally {
      exit();
    }
  }

  /** Ends the current wait, or the next if there is none, with {@link ErrorCode#INTERRUPTED}. */
  public void interrupt() {
    interruptWait();
  }
}
