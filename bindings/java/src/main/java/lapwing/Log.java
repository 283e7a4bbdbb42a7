package lapwing;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.function.Consumer;

/**
 * The log's lines, of the whole process: those of publishers. By default they are dropped. The calls
 * here replace each other.
 */
public final class Log {
  private static final System.Logger LOG = System.getLogger("lapwing");
  private static final int LINE_BYTES = 4096;

  private static volatile Consumer<String> target;
  private static MemorySegment callback; // made once, behind the monitor of the class

  private Log() {}

  /** A line of the queue. `dropped`: how many were dropped before it since the line before. */
  public record Line(String text, long dropped) {}

  /**
   * Gives each line to `target`, on the library's threads, one at a time. It must not call Lapwing, nor
   * {@link System#exit}. After this call returns, the target that was set before is not called any more.
   */
  public static synchronized void to(Consumer<String> target) {
    if (callback == null) {
      callback = callback();
      // A thread of the library must not enter a virtual machine that has ended.
      Runtime.getRuntime().addShutdownHook(new Thread(Log::drop, "lapwing-log-end"));
    }
    C.log_set(MemorySegment.NULL, MemorySegment.NULL); // the last target has returned
    Log.target = java.util.Objects.requireNonNull(target);
    C.log_set(callback, MemorySegment.NULL);
  }

  /** Gives the lines to {@code System.Logger} "lapwing". */
  public static void toSystemLogger() {
    to(line -> LOG.log(System.Logger.Level.INFO, "{0}", line));
  }

  /** Puts lines into a queue of 256, which {@link #read()} empties. Where it is full the oldest goes. */
  public static synchronized void toQueue() {
    C.log_queue();
  }

  /** Lines are dropped again. */
  public static synchronized void drop() {
    C.log_set(MemorySegment.NULL, MemorySegment.NULL);
  }

  /** The oldest line of the queue; null: there is none. */
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

  /** Called by the library. An exception that left it would end the process. */
  private static void line(MemorySegment user, MemorySegment line) {
    try {
      target.accept(Text.of(line));
    } catch (Throwable e) {
      LOG.log(System.Logger.Level.ERROR, "the target of Lapwing's log failed", e);
    }
  }
}
