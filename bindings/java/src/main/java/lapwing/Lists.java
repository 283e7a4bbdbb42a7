package lapwing;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;

/** Reads lists that the library fills in, and whose length it returns. */
final class Lists {
  private static final int FIRST_MAX = 64; // elements in the first attempt

  private Lists() {}

  /** A C function that fills in a list and writes its length to `out`, even with too-small. */
  interface Call {
    int fill(MemorySegment memory, long max);
  }

  interface Element<T> {
    T at(MemorySegment memory, long offset);
  }

  /** Returns all elements. */
  static <T> List<T> all(MemorySegment out, MemorySegment error, long elementBytes, Call call,
      Element<T> element) {
    long max = FIRST_MAX;
    for (;;) {
      try (Arena arena = Arena.ofConfined()) {
        MemorySegment memory = arena.allocate(max * elementBytes, 8);
        int result = call.fill(memory, max);
        long count = out.get(ValueLayout.JAVA_LONG, 0);
        if (result == C.OK) {
          return of(memory, elementBytes, count, element);
        }
        if (result != C.ERROR_TOO_SMALL || count <= max) {
          throw LapwingException.of(result, error, 0);
        }
        max = count;
      }
    }
  }

  /** Returns the first elements of the memory. */
  static <T> List<T> of(MemorySegment memory, long elementBytes, long count, Element<T> element) {
    List<T> list = new ArrayList<>((int) count);
    for (long i = 0; i < count; i++) {
      list.add(element.at(memory, i * elementBytes));
    }
    return list;
  }
}
