package lapwing;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;

/**
 * Options for the messages that this side sends; a consumer ignores sizes. Immutable and reusable.
 */
public final class ChannelOptions {
  /** All options have their defaults. */
  public static final ChannelOptions DEFAULTS = builder().build();

  private final int flags;
  private final String name;
  private final Long capacity;
  private final Integer messageBytesMax;
  private final Integer callWindow;
  private final WaitMode wait;
  private final int numaNode;
  private final int peerUid;
  private final Duration retry;

  private ChannelOptions(Builder given) {
    flags = given.flags;
    name = given.name;
    capacity = given.capacity;
    messageBytesMax = given.messageBytesMax;
    callWindow = given.callWindow;
    wait = given.wait;
    numaNode = given.numaNode;
    peerUid = given.peerUid;
    retry = given.retry;
  }

  /** Returns a builder with the defaults. */
  public static Builder builder() {
    return new Builder();
  }

  /** Sets options. An option that is not set, or is set to null, has its default. */
  public static final class Builder {
    private int flags;
    private String name;
    private Long capacity;
    private Integer messageBytesMax;
    private Integer callWindow;
    private WaitMode wait;
    private int numaNode;
    private int peerUid;
    private Duration retry;

    private Builder() {}

    /** Name of this side; {@code lapwing info} shows it. */
    public Builder name(String name) {
      this.name = name;
      return this;
    }

    /** Capacity in bytes, a power of two; 1 MiB by default. */
    public Builder capacity(long bytes) {
      this.capacity = Options.size("capacity", bytes);
      return this;
    }

    /** Maximum size of a message; 64 KiB by default. */
    public Builder messageBytesMax(int bytes) {
      this.messageBytesMax = Options.size("messageBytesMax", bytes);
      return this;
    }

    /** Limit on accepted unanswered calls, and on untaken one-way messages; 64 by default. */
    public Builder callWindow(int calls) {
      this.callWindow = Options.size("callWindow", calls);
      return this;
    }

    /** How calls wait; backoff by default. */
    public Builder waitMode(WaitMode wait) {
      this.wait = wait;
      return this;
    }

    /** Aligns payloads to 64 bytes; otherwise to 16, and payloads of 49 to 56 bytes to 8. */
    public Builder aligned(boolean aligned) {
      return flag(C.CHANNEL_ALIGNED, aligned);
    }

    /** Backs the memory with huge pages, or fails. */
    public Builder hugePages(boolean hugePages) {
      return flag(C.CHANNEL_HUGE_PAGES, hugePages);
    }

    /** Uses a fence for each message instead of a system call. */
    public Builder noMembarrier(boolean noMembarrier) {
      return flag(C.CHANNEL_NO_MEMBARRIER, noMembarrier);
    }

    /** Delivers replies that arrive after the end of their call, marked as late. */
    public Builder lateReplies(boolean lateReplies) {
      return flag(C.CHANNEL_LATE_REPLIES, lateReplies);
    }

    /** Allocates this side's memory on that node, or fails. */
    public Builder numaNode(int node) {
      this.numaNode = Options.size("numaNode", node);
      return flag(C.CHANNEL_NUMA, true);
    }

    /** The only user to serve, or to connect to; by default this user and root. */
    public Builder peerUid(int uid) {
      this.peerUid = uid;
      return flag(C.CHANNEL_PEER_UID, true);
    }

    /** How long connect retries while no process listens; zero by default. */
    public Builder retry(Duration retry) {
      this.retry = Options.span("retry", retry);
      return this;
    }

    private Builder flag(int flag, boolean isSet) {
      flags = isSet ? flags | flag : flags & ~flag;
      return this;
    }

    /** Returns the options as currently set. */
    public ChannelOptions build() {
      return new ChannelOptions(this);
    }
  }

  MemorySegment write(Arena arena) {
    MemorySegment to = arena.allocate(C.channel_options.SIZE, 8);
    C.channel_options_init(to, (int) C.channel_options.SIZE);
    to.set(ValueLayout.JAVA_INT, C.channel_options.flags, flags);
    to.set(ValueLayout.ADDRESS, C.channel_options.name, Text.in(arena, name));
    Options.put(to, C.channel_options.capacity, capacity);
    Options.put(to, C.channel_options.message_bytes_max, messageBytesMax);
    Options.put(to, C.channel_options.call_window, callWindow);
    Options.put(to, C.channel_options.wait, wait == null ? null : wait.number);
    to.set(ValueLayout.JAVA_INT, C.channel_options.numa_node, numaNode);
    to.set(ValueLayout.JAVA_INT, C.channel_options.peer_uid, peerUid);
    Options.put(to, C.channel_options.retry_ns, retry);
    return to;
  }
}
