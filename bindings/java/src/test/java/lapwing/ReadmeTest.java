package lapwing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests that the loop in README.md is short, compiles and runs. */
class ReadmeTest {
  private static final int LINES_MAX = 15;

  /** A program around the loop. */
  private static final String PROGRAM = """
      import java.nio.file.Path;
      import lapwing.*;

      final class Loop {
        static void add(long sequence, double price) {
          System.out.println(sequence + " " + price);
        }

        static void load(Row row) {
          throw new AssertionError("a state");
        }

        public static void main(String[] arguments) {
      %s
        }
      }
      """;

  @TempDir Path directory;

  private static List<String> loop() throws IOException {
    List<String> lines =
        Files.readAllLines(Path.of(System.getProperty("lapwing.examples")).resolveSibling("README.md"));
    int begin = lines.indexOf("```java") + 1;
    return lines.subList(begin, begin + lines.subList(begin, lines.size()).indexOf("```"));
  }

  @Test
  void theLoopIsShortAndRuns() throws Exception {
    List<String> loop = loop();
    assertTrue(loop.size() <= LINES_MAX, loop.size() + " lines");
    Path program = Files.writeString(directory.resolve("Loop.java"),
        PROGRAM.formatted(String.join("\n", loop)));
    Feed.closedBookBus(directory.resolve("es"));
    List<String> said =
        ExamplesTest.outputOf(ExamplesTest.start(directory, program)).lines().toList();
    assertEquals(List.of("session 1", "1 98.0", "2 99.0", "3 101.0", "4 102.0", "caught-up 4"),
        said.subList(0, 6));
    assertTrue(said.get(6).startsWith("closed 4: "), said.get(6));
  }
}
