package lapwing.conformance;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntConsumer;
import java.util.function.LongConsumer;
import lapwing.Lapwing;

/** A step of a scenario: an operation, and values by their names. */
record Step(String operation, Map<String, String> values) {
  /** A step that Java's API cannot express, with the answer that C would return. */
  static final class Unsuited extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final String result;

    Unsuited(String result) {
      super(result);
      this.result = result;
    }

    String result() {
      return result;
    }
  }

  static Step parse(String line) {
    String[] words = line.trim().split(" +");
    Map<String, String> values = new HashMap<>();
    for (int i = 1; i < words.length; i++) {
      int equals = words[i].indexOf('=');
      if (equals >= 0) {
        values.put(words[i].substring(0, equals), decoded(words[i].substring(equals + 1)));
      }
    }
    return new Step(words[0], values);
  }

  private static String decoded(String text) {
    byte[] in = text.getBytes(StandardCharsets.UTF_8);
    var out = new ByteArrayOutputStream();
    for (int i = 0; i < in.length; i++) {
      if (in[i] == '%' && i + 2 < in.length) {
        out.write(Integer.parseInt(text.substring(i + 1, i + 3), 16));
        i += 2;
      } else {
        out.write(in[i]);
      }
    }
    return out.toString(StandardCharsets.UTF_8);
  }

  boolean has(String key) {
    return values.containsKey(key);
  }

  /** Returns null if it is not given. */
  String text(String key) {
    return values.get(key);
  }

  /** Returns the path "" if it is not given. */
  Path path(String key) {
    return Path.of(values.getOrDefault(key, ""));
  }

  long number(String key) {
    return number(key, 0);
  }

  long number(String key, long missing) {
    return has(key) ? Long.parseUnsignedLong(text(key)) : missing;
  }

  int whole(String key) {
    return (int) number(key);
  }

  boolean isSet(String key) {
    return number(key) != 0;
  }

  /** Returns null if it is not given. */
  Duration milliseconds(String key) {
    return has(key) ? Duration.ofMillis(number(key)) : null;
  }

  /** Sets an option to a value if it is given. */
  void whole(String key, IntConsumer option) {
    if (has(key)) {
      option.accept(whole(key));
    }
  }

  void number(String key, LongConsumer option) {
    if (has(key)) {
      option.accept(number(key));
    }
  }

  Duration timeout() {
    return "forever".equals(text("timeout_ms")) ? Lapwing.FOREVER
        : Duration.ofMillis(number("timeout_ms"));
  }

  List<String> list(String key) {
    return has(key) && !text(key).isEmpty() ? List.of(text(key).split(",")) : List.of();
  }

  /** Returns null if it is not given. */
  <E extends Enum<E>> E choice(String key, Class<E> type) {
    if (!has(key)) {
      return null;
    }
    for (E value : type.getEnumConstants()) {
      if (value.name().equalsIgnoreCase(text(key))) {
        return value;
      }
    }
    throw new Unsuited("invalid-argument");
  }
}
