package lapwing;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.UUID;

/**
 * The counters of a channel.
 *
 * @param connectionId the same on both sides
 * @param messageBytesMax largest message that may arrive (consumer) or be sent (otherwise)
 * @param received messages that were received and released
 * @param released sent messages that the other side reports as released
 * @param wakes wake-ups of the other side; each is a system call
 */
public record ChannelInfo(Role role, UUID connectionId, long messageBytesMax, long sent,
    long received, long released, long fullWaits, long emptyWaits, long sleeps, long wakes,
    long lateReplies) {

  /** The role of this side of the channel. */
  public enum Role {
    PRODUCER, CONSUMER, DUPLEX
  }

  static ChannelInfo of(MemorySegment info) {
    return new ChannelInfo(
        switch (info.get(ValueLayout.JAVA_INT, C.channel_info.role)) {
          case C.CHANNEL_ROLE_PRODUCER -> Role.PRODUCER;
          case C.CHANNEL_ROLE_CONSUMER -> Role.CONSUMER;
          default -> Role.DUPLEX;
        },
        Text.id(info, C.channel_info.connection_id),
        info.get(ValueLayout.JAVA_LONG, C.channel_info.message_bytes_max),
        info.get(ValueLayout.JAVA_LONG, C.channel_info.sent),
        info.get(ValueLayout.JAVA_LONG, C.channel_info.received),
        info.get(ValueLayout.JAVA_LONG, C.channel_info.released),
        info.get(ValueLayout.JAVA_LONG, C.channel_info.full_waits),
        info.get(ValueLayout.JAVA_LONG, C.channel_info.empty_waits),
        info.get(ValueLayout.JAVA_LONG, C.channel_info.sleeps),
        info.get(ValueLayout.JAVA_LONG, C.channel_info.wakes),
        info.get(ValueLayout.JAVA_LONG, C.channel_info.late_replies));
  }
}
