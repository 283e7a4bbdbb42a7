package lapwing;

import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;

/** The library, and what all its calls have in common. */
public final class Lapwing {
  /** The timeout of a call that does not wait. */
  public static final Duration NOW = Duration.ZERO;

  /** The timeout of a call that waits without end. */
  public static final Duration FOREVER = ChronoUnit.FOREVER.getDuration();

  /** An option that is a duration: what it is for never happens. */
  public static final Duration NEVER = FOREVER;

  /** {@link PublisherOptions#syncInterval}: only {@link Publisher#flush} makes records durable. */
  public static final Duration ON_REQUEST = FOREVER;

  /** Prices are multiples of 1e-9: so many are 1. */
  public static final long PRICE_SCALE = 1_000_000_000;

  /** No price. */
  public static final long NO_PRICE = Long.MAX_VALUE;

  /** No time: the largest time, in signed form. */
  public static final long NO_TIME = -1;

  private static final long SECONDS_MAX = Long.MAX_VALUE / 1_000_000_000L;

  private Lapwing() {}

  /** The library's release, "0.2.0". */
  public static String version() {
    return Library.VERSION;
  }

  /** The library's ABI, "1.0". A library that this package cannot use is not loaded. */
  public static String abi() {
    return (Library.ABI >>> 16) + "." + (Library.ABI & 0xffff);
  }

  /** UTC nanoseconds since 1970. */
  static long nanos(Instant time) {
    return time.getEpochSecond() * 1_000_000_000L + time.getNano();
  }

  /** The duration for C: nanoseconds, or -1 for a duration without end. */
  static long nanos(Duration timeout) {
    long seconds = timeout.getSeconds();
    if (seconds >= SECONDS_MAX) {
      return C.FOREVER;
    }
    if (seconds < 0) {
      throw new LapwingException(ErrorCode.INVALID_ARGUMENT,
          "a time span is negative: " + timeout + ". Lapwing.FOREVER is the one without end.");
    }
    return seconds * 1_000_000_000L + timeout.getNano();
  }
}
