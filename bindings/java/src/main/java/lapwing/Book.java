package lapwing;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * The top of a book, and its state.
 *
 * @param isSettled false inside a venue event
 * @param isStale true if its orders may differ from the venue's
 * @param hasTops true if the feed contains only the best price of each side, and no orders
 * @param bid the best bid; its price is {@link Lapwing#NO_PRICE} if there is none
 * @param ask the best ask; its price is {@link Lapwing#NO_PRICE} if there is none
 * @param sequence of its last record; 0: none since a state was loaded
 * @param tsEvent of the same record; {@link Lapwing#NO_TIME}: none
 * @param tsRecv of the same record; {@link Lapwing#NO_TIME}: none
 * @param lostThrough the last sequence of the bus that was lost; 0: none
 */
public record Book(boolean isSettled, boolean isStale, boolean hasTops, Level bid, Level ask,
    long bidLevels, long askLevels, long orders, long sequence, long tsEvent, long tsRecv,
    long lostThrough) {

  static Book of(MemorySegment book) {
    return new Book(book.get(ValueLayout.JAVA_INT, C.book.is_settled) != 0,
        book.get(ValueLayout.JAVA_INT, C.book.is_stale) != 0,
        book.get(ValueLayout.JAVA_INT, C.book.has_tops) != 0,
        Level.of(book, C.book.bid),
        Level.of(book, C.book.ask),
        book.get(ValueLayout.JAVA_LONG, C.book.bid_levels),
        book.get(ValueLayout.JAVA_LONG, C.book.ask_levels),
        book.get(ValueLayout.JAVA_LONG, C.book.orders),
        book.get(ValueLayout.JAVA_LONG, C.book.sequence),
        book.get(ValueLayout.JAVA_LONG, C.book.ts_event),
        book.get(ValueLayout.JAVA_LONG, C.book.ts_recv),
        book.get(ValueLayout.JAVA_LONG, C.book.lost_through));
  }
}
