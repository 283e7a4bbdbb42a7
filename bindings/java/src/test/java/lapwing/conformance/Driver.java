package lapwing.conformance;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import lapwing.LapwingException;

/** The driver for the Java package. See tests/conformance/bindings for the drivers' answers. */
final class Driver {
  /** Performs a step and returns the lines of its answer. */
  interface Operation {
    List<String> answer(Step step);
  }

  private static final boolean IS_BROKEN = System.getenv("LAPWING_CONFORMANCE_BREAK") != null;

  private final Map<String, Operation> operations;
  private final Map<String, CompletableFuture<List<String>>> begun = new TreeMap<>();
  private final Executor threads = task -> Thread.ofPlatform().daemon().start(task);

  private Driver(Map<String, Operation> operations) {
    this.operations = operations;
  }

  public static void main(String[] arguments) throws IOException {
    run(operations(new Handles()));
  }

  /** The operations of this package by name. */
  static Map<String, Operation> operations(Handles handles) {
    Map<String, Operation> operations = new TreeMap<>();
    LibrarySteps.add(operations);
    PublisherSteps.add(operations, handles);
    SubscriberSteps.add(operations, handles);
    HistorySteps.add(operations, handles);
    BookSteps.add(operations, handles);
    ChannelSteps.add(operations, handles);
    MisuseSteps.add(operations);
    return operations;
  }

  /** Answers steps until the end of the input. */
  static void run(Map<String, Operation> operations) throws IOException {
    Driver driver = new Driver(operations);
    var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    var out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
    for (String line; (line = in.readLine()) != null; ) {
      driver.answer(line).forEach(said -> out.print(said + "\n"));
      out.print(".\n");
      out.flush();
    }
  }

  private List<String> answer(String line) {
    if (line.startsWith("begin ")) {
      String[] words = line.split(" ", 3);
      begun.put(words[1], CompletableFuture.supplyAsync(() -> step(words[2]), threads));
      return List.of("ok");
    }
    return line.startsWith("end ") ? begun.get(line.substring(4)).join() : step(line);
  }

  private List<String> step(String line) {
    Step step = Step.parse(line);
    Operation operation = operations.get(step.operation());
    if (operation == null) {
      return List.of("unsupported-step");
    }
    try {
      return operation.answer(step);
    } catch (LapwingException e) {
      return List.of(named(e.name()));
    } catch (Step.Unsuited e) {
      return List.of(e.result());
    }
  }

  /** Returns a result's name. If IS_BROKEN is set, swaps two names, so that comparisons fail. */
  static String named(String result) {
    if (IS_BROKEN && result.equals("timed-out")) {
      return "would-block";
    }
    return IS_BROKEN && result.equals("would-block") ? "timed-out" : result;
  }

  /**
   * Returns the C name for a wait without a result. The package has checked that this is the
   * result.
   */
  static List<String> nothing(Step step) {
    return List.of(named(step.timeout().isZero() ? "would-block" : "timed-out"));
  }

  static List<String> ok() {
    return List.of("ok");
  }

  static List<String> ok(String format, Object... values) {
    return List.of("ok " + String.format(format, values));
  }
}
