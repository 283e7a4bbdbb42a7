package lapwing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class BooksTest {
  private static final BookKey KEY = new BookKey(1, 4242);

  @TempDir Path directory;

  @Test
  void booksFollowASubscriber() {
    Feed.closedBookBus(directory);
    try (Subscriber subscriber = Feed.fromOldest(directory); Books books = Books.create()) {
      Batch batch = new Batch(16);
      for (Item item : subscriber.items(batch)) {
        books.take(batch);
        if (item instanceof Records) {
          assertEquals(ErrorCode.MISUSE,
              assertThrows(LapwingException.class, () -> books.take(batch)).code());
        }
      }
      assertEquals(List.of(KEY), books.keys());
      Book book = books.find(KEY).orElseThrow();
      assertEquals(new Level(99 * Lapwing.PRICE_SCALE, 7, 1), book.bid());
      assertEquals(new Level(101 * Lapwing.PRICE_SCALE, 5, 1), book.ask());
      assertTrue(book.isSettled() && !book.isStale());
      assertEquals("4 orders, 2:2 levels",
          book.orders() + " orders, " + book.bidLevels() + ":" + book.askLevels() + " levels");
      assertEquals(2, books.levels(KEY, Side.ASK, 0, 10).size());
      assertEquals(List.of(new Level(98 * Lapwing.PRICE_SCALE, 3, 1)),
          books.levels(KEY, Side.BID, 1, 10));
      Order order = books.orders(KEY, Side.BID, 0).getFirst();
      assertEquals(2, order.orderId());
      assertEquals(7, order.size());
      assertEquals(4, books.inspect().orders());
      assertTrue(books.find(new BookKey(1, 1)).isEmpty());
      assertEquals(ErrorCode.NOT_FOUND, assertThrows(LapwingException.class,
          () -> books.orders(KEY, Side.BID, 9)).code());
    }
  }
}
