package lapwing;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Optional;

/**
 * Maintains the order books of a dbn.mbo bus, from everything that one subscriber reads.
 *
 * <pre>{@code
 * for (Item item : subscriber.items(batch)) {
 *   books.take(batch);
 *   books.find(key).ifPresent(book -> show(book.bid(), book.ask()));
 * }
 * }</pre>
 *
 * <p>{@link ErrorCode#NOT_FOUND}: the instrument has not been seen, or has no such level.
 */
public final class Books extends Handle {
  /**
   * Totals over all books.
   *
   * @param isSettled no book is inside a venue event, and no state is being loaded
   * @param isLoading a state is being loaded: the books contain only part of it
   * @param sequence of the newest record in the books
   * @param digest equal for equal books
   */
  public record Info(boolean isSettled, boolean isLoading, long sequence, long books, long orders,
      long digest) {}

  private final MemorySegment key = Arena.ofAuto().allocate(C.book_key.SIZE, 8);
  private final MemorySegment book = Text.struct(Arena.ofAuto(), C.book.SIZE);

  private Books(MemorySegment pointer) {
    super("set of books", pointer, null, C::books_destroy);
  }

  /** Creates empty books. */
  public static Books create() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment error = LapwingException.memory(arena);
      MemorySegment created = arena.allocate(ValueLayout.ADDRESS);
      LapwingException.check(C.books_create(created, error), error);
      return new Books(created.get(ValueLayout.ADDRESS, 0));
    }
  }

  /**
   * Takes the result of the batch's last read. Pass every batch of one subscriber, in order. An
   * error changes nothing. MISUSE: the batch does not follow the last one. RECORD_SIZE: its rows
   * are neither dbn.mbo records nor entries of the fold `orders`. INVALID_ARGUMENT: its rows
   * replace others.
   */
  public void take(Batch batch) {
    batch.begin();
    try {
      takeBegun(batch);
    } finally {
      batch.end();
    }
  }

  private void takeBegun(Batch batch) {
    MemorySegment books = enter();
    try {
      LapwingException.check(C.books_take(books, batch.memory(), error), error);
    } finally {
      exit();
    }
  }

  /** Returns totals over all books. Sorts all orders to compute the digest. */
  public Info inspect() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment info = Text.struct(arena, C.books_info.SIZE);
      MemorySegment books = enter();
      try {
        LapwingException.check(C.books_inspect(books, info, error), error);
      } finally {
        exit();
      }
      return new Info(info.get(ValueLayout.JAVA_INT, C.books_info.is_settled) != 0,
          info.get(ValueLayout.JAVA_INT, C.books_info.is_loading) != 0,
          info.get(ValueLayout.JAVA_LONG, C.books_info.sequence),
          info.get(ValueLayout.JAVA_LONG, C.books_info.books),
          info.get(ValueLayout.JAVA_LONG, C.books_info.orders),
          info.get(ValueLayout.JAVA_LONG, C.books_info.digest));
    }
  }

  /** Returns the keys of all books, by publisher, then by instrument. */
  public List<BookKey> keys() {
    MemorySegment books = enter();
    try {
      return Lists.all(out, error, C.book_key.SIZE,
          (memory, max) -> C.books_list(books, memory, max, out, error),
          (memory, at) -> new BookKey(
              Short.toUnsignedInt(memory.get(ValueLayout.JAVA_SHORT, at + C.book_key.publisher_id)),
              memory.get(ValueLayout.JAVA_INT, at + C.book_key.instrument_id)));
    } finally {
      exit();
    }
  }

  /** Returns the book of an instrument; empty: the instrument has not been seen. */
  public Optional<Book> find(BookKey which) {
    MemorySegment books = enter();
    try {
      int result = C.books_find(books, in(which), book, error);
      if (result == C.ERROR_NOT_FOUND) {
        return Optional.empty();
      }
      LapwingException.check(result, error);
      return Optional.of(Book.of(book));
    } finally {
      exit();
    }
  }

  /** Returns at most `max` levels of a side, from the index `from` on. Level 0 is the best. */
  public List<Level> levels(BookKey which, Side side, long from, int max) {
    Options.size("from", from);
    Options.size("max", max);
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment levels = arena.allocate(max * C.level.SIZE, 8);
      MemorySegment books = enter();
      try {
        LapwingException.check(
            C.books_levels(books, in(which), side.letter, from, levels, max, out, error), error);
        return Lists.of(levels, C.level.SIZE, out.get(ValueLayout.JAVA_LONG, 0), Level::of);
      } finally {
        exit();
      }
    }
  }

  /** Returns the orders of a level in queue order. */
  public List<Order> orders(BookKey which, Side side, long level) {
    Options.size("level", level);
    MemorySegment books = enter();
    try {
      return Lists.all(out, error, C.order.SIZE, (memory, max) -> C.books_orders(books, in(which),
          side.letter, level, memory, max, out, error), Order::of);
    } finally {
      exit();
    }
  }

  /** Returns the key in memory for C. Call it only between enter() and exit(). */
  private MemorySegment in(BookKey which) {
    key.set(ValueLayout.JAVA_INT, C.book_key.instrument_id, which.instrumentId());
    key.set(ValueLayout.JAVA_SHORT, C.book_key.publisher_id, (short) which.publisherId());
    return key;
  }
}
