package lapwing.conformance;

import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.TreeSet;
import java.util.stream.Stream;
import lapwing.LapwingException;
import lapwing.PublisherOptions;

/** The common parts of the misuse steps, including those of Kotlin. */
final class Misuse {
  static final Path OWN_BUS = Path.of("own");
  static final Path CHANNEL = Path.of("channel");
  static final int ROW_BYTES = 16;
  static final int DROPPED_ROWS = 1000;
  static final int EXIT_CODE = 7;

  /** A call whose result is the answer. */
  interface Call {
    void run();
  }

  private Misuse() {}

  /** Returns the name of the error that the call throws; "ok" if it throws none. */
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

  /** Returns the distinct names in ascending order. */
  static String joined(Collection<String> names) {
    return String.join(",", new TreeSet<>(names));
  }

  static PublisherOptions ofRows() {
    return PublisherOptions.builder().recordBytes(ROW_BYTES).build();
  }
}
