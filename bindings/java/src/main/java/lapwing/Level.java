package lapwing;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * A price level of a book.
 *
 * @param price 1e-9; {@link Lapwing#NO_PRICE}: none
 * @param size of all its orders
 * @param orders how many; 0: a top, of which the number is not known
 */
public record Level(long price, long size, int orders) {
  static Level of(MemorySegment levels, long at) {
    return new Level(levels.get(ValueLayout.JAVA_LONG, at + C.level.price),
        levels.get(ValueLayout.JAVA_LONG, at + C.level.size),
        levels.get(ValueLayout.JAVA_INT, at + C.level.orders));
  }
}
