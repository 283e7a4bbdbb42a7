package lapwing;

import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;

/** Versions of the library, and constants for all calls. */
public final class Lapwing {
  /** The timeout of a call that does not wait. */
  public static final Duration NOW = Duration.ZERO;

  /** The timeout of a call that waits without a limit. */
  public static final Duration FOREVER = ChronoUnit.FOREVER.getDuration();

  /** For duration options: never. */
  public static final Duration NEVER = FOREVER;

  /** {@link PublisherOptions#syncInterval}: only {@link Publisher#flush} makes records durable. */
  public static final Duration ON_REQUEST = FOREVER;

  /** Prices are in units of 1e-9. This is the number of units in 1. */
  public static final long PRICE_SCALE = 1_000_000_000;

  /** No price. */
  public static final long NO_PRICE = Long.MAX_VALUE;

  /** No time: the largest time, in signed form. */
  public static final long NO_TIME = -1;

  private static final long SECONDS_MAX = Long.MAX_VALUE / 1_000_000_000L;

  private Lapwing() {}

  /** The library's release, such as "0.2.0". */
  public static String version() {
    return Library.VERSION;
  }

  /** The library's ABI, such as "1.0". A library with an incompatible ABI is not loaded. */
  public static String abi() {
    return (Library.ABI >>> 16) + "." + (Library.ABI & 0xffff);
  }

  /** Returns the time in UTC nanoseconds since 1970. */
  static long nanos(Instant time) {
    return time.getEpochSecond() * 1_000_000_000L + time.getNano();
  }

  /** Returns the duration for C: nanoseconds, or -1 for no limit. */
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
