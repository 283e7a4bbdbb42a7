package lapwing;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;

/**
 * A file that stores the position up to which a program has processed a bus. One process at a time
 * can open it.
 */
public final class Cursor extends Handle {
  /**
   * The last commit.
   *
   * @param outputBytes length of the program's own output at that position, or 0
   * @param outputFile number of the output's file, or 0
   */
  public record Commit(Position position, long outputBytes, long outputFile) {}

  private static final Duration OPEN_TIMEOUT = Duration.ofSeconds(1); // as in C++

  private Cursor(MemorySegment pointer) {
    super("cursor", pointer, null, C::cursor_destroy);
  }

  /** Waits at most 1 s for another process to close the file. */
  public static Cursor open(Path path) {
    return open(path, OPEN_TIMEOUT);
  }

  /** Opens a cursor whose commits survive if the process is killed, but not always a power cut. */
  public static Cursor open(Path path, Duration timeout) {
    return open(path, 0, timeout);
  }

  /** Waits at most 1 s for another process to close the file. */
  public static Cursor openDurable(Path path) {
    return openDurable(path, OPEN_TIMEOUT);
  }

  /** Opens a cursor whose commits also survive a power cut. Each one costs a sync. */
  public static Cursor openDurable(Path path, Duration timeout) {
    return open(path, C.CURSOR_DURABLE, timeout);
  }

  /** Waits for the file's lock, takes it and reads the file. Creates the file if it is missing. */
  private static Cursor open(Path path, int flags, Duration timeout) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment error = LapwingException.memory(arena);
      MemorySegment opened = arena.allocate(ValueLayout.ADDRESS);
      long timeoutNs = Lapwing.nanos(timeout);
      MemorySegment file = Text.in(arena, path);
      LapwingException.check(Waits.whileInUse(timeoutNs,
          () -> C.cursor_open(file, flags, 0, opened, error)), error);
      return new Cursor(opened.get(ValueLayout.ADDRESS, 0));
    }
  }

  /** Returns the last commit; empty: nothing has been committed yet. */
  public Optional<Commit> last() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment position = arena.allocate(C.position.SIZE, 8);
      MemorySegment bytes = arena.allocate(ValueLayout.JAVA_LONG);
      MemorySegment file = arena.allocate(ValueLayout.JAVA_LONG);
      MemorySegment cursor = enter();
      try {
        int result = C.cursor_position(cursor, position, bytes, file, error);
        if (result == C.ERROR_NOT_FOUND) {
          return Optional.empty();
        }
        LapwingException.check(result, error);
      } finally {
        exit();
      }
      return Optional.of(new Commit(Position.of(position), bytes.get(ValueLayout.JAVA_LONG, 0),
          file.get(ValueLayout.JAVA_LONG, 0)));
    }
  }

  /** Records that everything up to that position was processed. A sequence of 0 changes nothing. */
  public void commit(Position position) {
    commit(new Commit(position, 0, 0));
  }

  /** The same, including the end of the program's own output. */
  public void commit(Commit commit) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment position = arena.allocate(C.position.SIZE, 8);
      commit.position().write(position);
      MemorySegment cursor = enter();
      try {
        LapwingException.check(C.cursor_commit(cursor, position, commit.outputBytes(),
            commit.outputFile(), error), error);
      } finally {
        exit();
      }
    }
  }
}
