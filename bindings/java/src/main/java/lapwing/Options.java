package lapwing;

import java.time.Duration;

/** Checks of options. Their errors name the option and its valid values. */
final class Options {
  private Options() {}

  /** A size or a count: 0 is the default. */
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

  /** A time span: zero is the default. */
  static Duration span(String name, Duration value) {
    if (value.isNegative()) {
      throw new LapwingException(ErrorCode.INVALID_ARGUMENT,
          name + " is " + value + "; it can be: zero or more");
    }
    return value;
  }
}
