package lapwing;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * A price level of a book.
 *
 * @param price in units of 1e-9; {@link Lapwing#NO_PRICE}: none
 * @param size total size of its orders
 * @param orders number of orders; 0: a top, whose number of orders is unknown
 */
public record Level(long price, long size, int orders) {
  static Level of(MemorySegment levels, long at) {
    return new Level(levels.get(ValueLayout.JAVA_LONG, at + C.level.price),
        levels.get(ValueLayout.JAVA_LONG, at + C.level.size),
        levels.get(ValueLayout.JAVA_INT, at + C.level.orders));
  }
}
