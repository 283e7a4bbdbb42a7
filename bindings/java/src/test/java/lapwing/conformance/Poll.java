package lapwing.conformance;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.time.Duration;

/** poll(2), which Java provides only for its own channels. */
final class Poll {
  private static final short POLLIN = 1;
  private static final MethodHandle POLL = Linker.nativeLinker().downcallHandle(
      Linker.nativeLinker().defaultLookup().find("poll").orElseThrow(),
      FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.ADDRESS, ValueLayout.JAVA_LONG,
          ValueLayout.JAVA_INT));

  private Poll() {}

  static boolean isReadable(int fd, Duration timeout) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment polled = arena.allocate(8, 4);
      polled.set(ValueLayout.JAVA_INT, 0, fd);
      polled.set(ValueLayout.JAVA_SHORT, 4, POLLIN);
      return (int) POLL.invokeExact(polled, 1L, (int) timeout.toMillis()) > 0;
    } catch (Throwable e) {
      throw new IllegalStateException(e);
    }
  }
}
