package lapwing.conformance;

import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.TreeSet;
import java.util.stream.Stream;
import lapwing.LapwingException;
import lapwing.PublisherOptions;

/** What the steps of misuse have in common, those of Kotlin included. */
final class Misuse {
  static final Path OWN_BUS = Path.of("own");
  static final Path CHANNEL = Path.of("channel");
  static final int ROW_BYTES = 16;
  static final int DROPPED_ROWS = 1000;
  static final int EXIT_CODE = 7;

  /** A call whose end is the answer. */
  interface Call {
    void run();
  }

  private Misuse() {}

  /** The name of what the call throws; "ok" where it throws nothing. */
  static String thrownBy(Call call) {
    try {
      call.run();
      return "ok";
    } catch (RuntimeException e) {
      return nameOf(e);
    }
  }

  static String nameOf(Exception thrown) {
    return thrown instanceof LapwingException e ? Driver.named(e.name())
        : thrown.getClass().getSimpleName();
  }

  static List<String> thrownByEach(Call... calls) {
    return Stream.of(calls).map(Misuse::thrownBy).toList();
  }

  /** The different names, ascending. */
  static String joined(Collection<String> names) {
    return String.join(",", new TreeSet<>(names));
  }

  static PublisherOptions ofRows() {
    return PublisherOptions.builder().recordBytes(ROW_BYTES).build();
  }
}
