package lapwing;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;

/**
 * Of what this side of a channel sends; a consumer ignores sizes. Each option has a default: of an option
 * that is not given, or is null.
 */
public final class ChannelOptions {
  private int flags;
  private String name;
  private Long capacity;
  private Integer messageBytesMax;
  private Integer callWindow;
  private WaitMode wait;
  private int numaNode;
  private int peerUid;
  private Duration retry;

  /** For people: {@code lapwing info} shows it. */
  public ChannelOptions name(String name) {
    this.name = name;
    return this;
  }

  /** Bytes, a power of two; 1 MiB by default. */
  public ChannelOptions capacity(long bytes) {
    this.capacity = Options.size("capacity", bytes);
    return this;
  }

  /** 64 KiB by default. */
  public ChannelOptions messageBytesMax(int bytes) {
    this.messageBytesMax = Options.size("messageBytesMax", bytes);
    return this;
  }

  /** Calls, and one-way messages, taken unanswered; 64 by default. */
  public ChannelOptions callWindow(int calls) {
    this.callWindow = Options.size("callWindow", calls);
    return this;
  }

  /** How it waits; backoff is the default. */
  public ChannelOptions waitMode(WaitMode wait) {
    this.wait = wait;
    return this;
  }

  /** Payloads are aligned to 64 bytes. Without it, to 16, and those of 49 to 56 bytes to 8. */
  public ChannelOptions aligned(boolean aligned) {
    return flag(C.CHANNEL_ALIGNED, aligned);
  }

  /** Huge pages, or it fails. */
  public ChannelOptions hugePages(boolean hugePages) {
    return flag(C.CHANNEL_HUGE_PAGES, hugePages);
  }

  /** A fence for each message instead of a system call. */
  public ChannelOptions noMembarrier(boolean noMembarrier) {
    return flag(C.CHANNEL_NO_MEMBARRIER, noMembarrier);
  }

  /** Replies after their call's end are delivered, marked late. */
  public ChannelOptions lateReplies(boolean lateReplies) {
    return flag(C.CHANNEL_LATE_REPLIES, lateReplies);
  }

  /** This side's memory lies on that node, or it fails. */
  public ChannelOptions numaNode(int node) {
    this.numaNode = Options.size("numaNode", node);
    return flag(C.CHANNEL_NUMA, true);
  }

  /** Only that user is served, or connected to; by default this user and root. */
  public ChannelOptions peerUid(int uid) {
    this.peerUid = uid;
    return flag(C.CHANNEL_PEER_UID, true);
  }

  /** How long connect keeps trying while nobody listens; zero by default. */
  public ChannelOptions retry(Duration retry) {
    this.retry = Options.span("retry", retry);
    return this;
  }

  private ChannelOptions flag(int flag, boolean isSet) {
    flags = isSet ? flags | flag : flags & ~flag;
    return this;
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
