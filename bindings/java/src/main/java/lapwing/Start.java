package lapwing;

import java.time.Instant;

/** The position at which a subscriber begins. */
public final class Start {
  final int kind;
  final long value;
  final Position position; // null: none

  private Start(int kind, long value, Position position) {
    this.kind = kind;
    this.value = value;
    this.position = position;
  }

  /** The next record that is published. */
  public static Start live() {
    return new Start(C.START_LIVE, 0, null);
  }

  /** The oldest retained record. */
  public static Start oldest() {
    return new Start(C.START_OLDEST, 0, null);
  }

  /** The record with that sequence. */
  public static Start sequence(long sequence) {
    return new Start(C.START_SEQUENCE, sequence, null);
  }

  /** That time or a little before it, so that no record published since then is missed. */
  public static Start time(Instant time) {
    return timeNs(Lapwing.nanos(time));
  }

  /** The same, with a time in UTC nanoseconds since 1970. */
  public static Start timeNs(long utcNs) {
    return new Start(C.START_TIME, utcNs, null);
  }

  /** The state of the newest checkpoint, then the records after it. */
  public static Start snapshot() {
    return new Start(C.START_SNAPSHOT, 0, null);
  }

  /** The record after a stored position. */
  public static Start after(Position position) {
    return new Start(C.START_AFTER, 0, position);
  }
}
