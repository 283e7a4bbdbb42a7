package lapwing;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;

/** Checks of options. Their errors name the option and its valid values. */
final class Options {
  private Options() {}

  /** Checks a size or a count. */
  static long size(String name, long value) {
    if (value < 0) {
      throw new LapwingException(ErrorCode.INVALID_ARGUMENT,
          name + " is " + value + "; it can be: 0 or more");
    }
    return value;
  }

  static int size(String name, int value) {
    return (int) size(name, (long) value);
  }

  /** Checks a duration; null: the default. */
  static Duration span(String name, Duration value) {
    if (value != null && value.isNegative()) {
      throw new LapwingException(ErrorCode.INVALID_ARGUMENT,
          name + " is " + value + "; it can be: zero or more");
    }
    return value;
  }

  /** Writes the value to a struct. Keeps the default if it is null. */
  static void put(MemorySegment to, long offset, Duration value) {
    if (value != null) {
      to.set(ValueLayout.JAVA_LONG, offset, Lapwing.nanos(value));
    }
  }

  static void put(MemorySegment to, long offset, Long value) {
    if (value != null) {
      to.set(ValueLayout.JAVA_LONG, offset, value);
    }
  }

  static void put(MemorySegment to, long offset, Integer value) {
    if (value != null) {
      to.set(ValueLayout.JAVA_INT, offset, value);
    }
  }
}
