package lapwing;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * The top of a book, and how it is.
 *
 * @param isSettled false: within an event of the venue
 * @param isStale its orders may differ from the venue's
 * @param hasTops the feed gives the best price of each side, and no orders
 * @param bid the best; its price is {@link Lapwing#NO_PRICE} where there is none
 * @param ask likewise
 * @param sequence of its last record; 0: none since a state was loaded
 * @param tsEvent likewise; {@link Lapwing#NO_TIME}: none
 * @param tsRecv likewise
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
