package lapwing;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * A resting order.
 *
 * @param price in units of 1e-9
 * @param place queue rank; among equal prices the lower one is first
 * @param tsRecv UTC nanoseconds
 * @param size the remaining size
 */
public record Order(long orderId, long price, long place, long tsRecv, int size, int flags) {
  static Order of(MemorySegment orders, long at) {
    return new Order(orders.get(ValueLayout.JAVA_LONG, at + C.order.order_id),
        orders.get(ValueLayout.JAVA_LONG, at + C.order.price),
        orders.get(ValueLayout.JAVA_LONG, at + C.order.place),
        orders.get(ValueLayout.JAVA_LONG, at + C.order.ts_recv),
        orders.get(ValueLayout.JAVA_INT, at + C.order.size),
        orders.get(ValueLayout.JAVA_INT, at + C.order.flags));
  }
}
