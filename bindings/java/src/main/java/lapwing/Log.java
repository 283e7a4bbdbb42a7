package lapwing;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.function.Consumer;

/**
 * The log of all publishers in the process. By default its lines are dropped. Each call of a method
 * here replaces the previous setting.
 */
public final class Log {
  private static final System.Logger LOG = System.getLogger("lapwing");
  private static final int LINE_BYTES = 4096;

  private static volatile Consumer<String> target;
  private static MemorySegment callback; // created once, guarded by the monitor of the class

  private Log() {}

  /**
   * A line from the queue. `dropped` is the number of lines that were dropped since the previous
   * line.
   */
  public record Line(String text, long dropped) {}

  /**
   * Passes each line to `target`, on the library's threads, one at a time. `target` must not call
   * Lapwing or {@link System#exit}. Once this call returns, the library no longer calls the
   * previous target.
   */
  public static synchronized void to(Consumer<String> target) {
    if (callback == null) {
      callback = callback();
      // A library thread must not enter a virtual machine that has ended.
      Runtime.getRuntime().addShutdownHook(new Thread(Log::drop, "lapwing-log-end"));
    }
    C.log_set(MemorySegment.NULL, MemorySegment.NULL); // after this, the last target has returned
    Log.target = java.util.Objects.requireNonNull(target);
    C.log_set(callback, MemorySegment.NULL);
  }

  /** Passes the lines to {@code System.Logger} "lapwing". */
  public static void toSystemLogger() {
    to(line -> LOG.log(System.Logger.Level.INFO, "{0}", line));
  }

  /**
   * Puts lines into a queue of 256, from which {@link #read()} takes them. If it is full, the
   * oldest is dropped.
   */
  public static synchronized void toQueue() {
    C.log_queue();
  }

  /** Drops lines again, which is the default. */
  public static synchronized void drop() {
    C.log_set(MemorySegment.NULL, MemorySegment.NULL);
  }

  /** Takes the oldest line from the queue; null: the queue is empty. */
  public static Line read() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment line = arena.allocate(LINE_BYTES);
      MemorySegment dropped = arena.allocate(ValueLayout.JAVA_LONG);
      int result = C.log_read(line, LINE_BYTES, dropped);
      if (result == C.ERROR_WOULD_BLOCK) {
        return null;
      }
      if (result != C.OK) {
        throw LapwingException.of(result);
      }
      return new Line(line.getString(0), dropped.get(ValueLayout.JAVA_LONG, 0));
    }
  }

  private static MemorySegment callback() {
    try {
      return Library.callback(
          MethodHandles.lookup().findStatic(Log.class, "line",
              MethodType.methodType(void.class, MemorySegment.class, MemorySegment.class)),
          FunctionDescriptor.ofVoid(ValueLayout.ADDRESS, ValueLayout.ADDRESS));
    } catch (ReflectiveOperationException e) {
      throw new LinkageError("Log.line cannot be called from C", e);
    }
  }

  /** Called by the library. An exception from this method would end the process. */
  private static void line(MemorySegment user, MemorySegment line) {
    try {
      target.accept(Text.of(line));
    } catch (Throwable e) {
      LOG.log(System.Logger.Level.ERROR, "the target of Lapwing's log failed", e);
    }
  }
}
