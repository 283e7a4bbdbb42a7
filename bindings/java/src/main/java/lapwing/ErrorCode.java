package lapwing;

/** The reason why a call failed. The numbers are those of C and never change their meaning. */
public enum ErrorCode {
  /** The call succeeded. */
  OK(C.OK),
  /** The arguments contradict each other or a stated limit. */
  INVALID_ARGUMENT(C.ERROR_INVALID_ARGUMENT),
  /** No bus is in this directory, or no channel at this path. */
  NO_BUS(C.ERROR_NO_BUS),
  /** Another process uses this bus, journal, path or cursor. */
  IN_USE(C.ERROR_IN_USE),
  /** Refused by the kernel or by an ownership check. */
  NOT_PERMITTED(C.ERROR_NOT_PERMITTED),
  /** The disk or the tmpfs is full. */
  NO_SPACE(C.ERROR_NO_SPACE),
  /** Any other failed system call: {@link LapwingException#errno()}. */
  SYSTEM(C.ERROR_SYSTEM),
  /** Durable bytes differ from those that were written. */
  DAMAGED(C.ERROR_DAMAGED),
  /** The other side has another ABI version. */
  ABI_MISMATCH(C.ERROR_ABI_MISMATCH),
  /** The path is another kind of file or directory. */
  NOT_A_LAPWING_FILE(C.ERROR_NOT_A_LAPWING_FILE),
  /** The journal failed: its first failed write or sync. */
  JOURNAL_FAILED(C.ERROR_JOURNAL_FAILED),
  /** This bus keeps no journal. */
  NO_JOURNAL(C.ERROR_NO_JOURNAL),
  /** The journal no longer keeps that sequence. */
  PRUNED(C.ERROR_PRUNED),
  /** The timeout passed while the call waited. */
  TIMED_OUT(C.ERROR_TIMED_OUT),
  /** The publisher ended without closing. */
  PUBLISHER_GONE(C.ERROR_PUBLISHER_GONE),
  /** The other side refused the connection. */
  REFUSED(C.ERROR_REFUSED),
  /** The other side violates the protocol. */
  PROTOCOL(C.ERROR_PROTOCOL),
  /** Bytes violate their format. */
  BAD_INPUT(C.ERROR_BAD_INPUT),
  /** Records of this size or type do not fit this bus. */
  RECORD_SIZE(C.ERROR_RECORD_SIZE),
  /** A path is too long for a socket or a frame. */
  PATH_TOO_LONG(C.ERROR_PATH_TOO_LONG),
  /** Closed cleanly. */
  CLOSED(C.ERROR_CLOSED),
  /** A stored position belongs to a discarded journal. */
  RESET(C.ERROR_RESET),
  /** Not supported by this kernel, container or file system. */
  UNSUPPORTED(C.ERROR_UNSUPPORTED),
  /** A named limit is exhausted. */
  LIMIT(C.ERROR_LIMIT),
  /** A file, schema or sequence does not exist. */
  NOT_FOUND(C.ERROR_NOT_FOUND),
  /** There was a gap, and the policy is to stop at one. */
  STOPPED_AT_GAP(C.ERROR_STOPPED_AT_GAP),
  /** A channel's other side has ended. */
  PEER_GONE(C.ERROR_PEER_GONE),
  /** A channel's other side wrote invalid data. */
  CORRUPT(C.ERROR_CORRUPT),
  /** Nothing is available, and the call does not wait. */
  WOULD_BLOCK(C.ERROR_WOULD_BLOCK),
  /** A call was used incorrectly and had no effect. */
  MISUSE(C.ERROR_MISUSE),
  /** {@code interrupt()} or {@code close()} ended the wait. */
  INTERRUPTED(C.ERROR_INTERRUPTED),
  /** The buffer is too small for a row or message; none was taken. */
  TOO_SMALL(C.ERROR_TOO_SMALL),
  /** Memory could not be allocated. */
  NO_MEMORY(C.ERROR_NO_MEMORY),
  /** The object belongs to the parent of this forked process. */
  FORKED(C.ERROR_FORKED),
  /** An event comes before the next record: read it. */
  EVENT_DUE(C.ERROR_EVENT_DUE),
  /** The publisher did not answer while the subscriber joined. The subscriber has ended. */
  NO_ANSWER(C.ERROR_NO_ANSWER),
  /** A number of a later release: {@link LapwingException#number()}. */
  UNKNOWN(-1);

  private static final ErrorCode[] BY_NUMBER = values();

  private final int number;
  private final String label;

  ErrorCode(int number) {
    this.number = number;
    this.label = name().toLowerCase(java.util.Locale.ROOT).replace('_', '-');
  }

  /** The number in C; -1 for {@link #UNKNOWN}. */
  public int number() {
    return number;
  }

  /** Returns the name that Lapwing's commands show, such as "timed-out". */
  @Override
  public String toString() {
    return label;
  }

  static ErrorCode of(int number) {
    return number >= 0 && number < UNKNOWN.ordinal() ? BY_NUMBER[number] : UNKNOWN;
  }

  /** Returns the library's name for a number; "unknown" for an unknown number. */
  public static String nameOf(int number) {
    return Text.of(C.error_name(number));
  }
}
