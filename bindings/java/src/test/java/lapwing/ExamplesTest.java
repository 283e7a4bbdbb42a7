package lapwing;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Runs each example as its comment describes. */
class ExamplesTest {
  @TempDir Path directory;

  private Process start(String example, String... arguments) throws IOException {
    return start(directory, Path.of(System.getProperty("lapwing.examples"), example + ".java"),
        arguments);
  }

  /** Compiles and runs a program in that working directory. */
  static Process start(Path directory, Path program, String... arguments) throws IOException {
    List<String> command = new ArrayList<>(List.of(
        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
        "-cp", System.getProperty("java.class.path"), "--enable-native-access=ALL-UNNAMED",
        program.toString()));
    command.addAll(List.of(arguments));
    return new ProcessBuilder(command).directory(directory.toFile())
        .redirectError(ProcessBuilder.Redirect.INHERIT).start();
  }

  static String outputOf(Process process) throws IOException, InterruptedException {
    String output = new String(process.getInputStream().readAllBytes());
    assertEquals(true, process.waitFor(60, TimeUnit.SECONDS));
    assertEquals(0, process.exitValue());
    return output;
  }

  @Test
  void publishPublishes() throws Exception {
    assertEquals("durable up to 10\n", outputOf(start("Publish", directory.toString())));
    try (History history = History.open(directory)) {
      Field price = Schema.ofBus(directory).field("price");
      Records records = (Records) history.read(1, new Batch(16));
      assertEquals(10, records.count());
      assertEquals(4500.5, records.row(0).getDouble(price));
    }
  }

  @Test
  void topOfBookPrintsTheBestPrices() throws Exception {
    Feed.closedBookBus(directory);
    assertEquals("1:4242 7 x 99.00 | 5 x 101.00\n",
        outputOf(start("TopOfBook", directory.toString())));
  }

  @Test
  void twoBusesAreReadInOneThread() throws Exception {
    Path first = directory.resolve("first");
    Path second = directory.resolve("second");
    Feed.closedBus(first, 10_000);
    try (Publisher publisher = Feed.open(second)) { // closed later than the first bus
      Process reading = start("TwoBuses", first.toString(), second.toString());
      while (publisher.inspect().subscribers() == 0) {
        TimeUnit.MILLISECONDS.sleep(10);
      }
      Feed.publish(publisher, 1, 7);
      publisher.end(Feed.PATIENCE);
      assertEquals("first 10000\nsecond 7\n", outputOf(reading));
    }
  }

  @Test
  void theClientCallsTheServer() throws Exception {
    String socket = directory.resolve("s").toString();
    Process server = start("SquareServer", socket);
    assertEquals("7 squared is 49\n-12 squared is 144\n",
        outputOf(start("SquareClient", socket, "7", "-12")));
    assertEquals("", outputOf(server));
  }
}
