package lapwing;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.ref.Cleaner;
import java.util.Iterator;
import java.util.NoSuchElementException;

/**
 * Records of a journal file in place: read-only, not copied, readable by any thread. Row i is at
 * i * {@link #strideBytes()}. The bytes between rows belong to the journal.
 *
 * <p>Keep the view as long as you use its {@link #memory()}. Both end with close(), or with a
 * warning when the view is garbage-collected. Using the memory after that throws.
 */
public final class HistoryView implements AutoCloseable, Iterable<Row>, Row.Source {
  private static final System.Logger LOG = System.getLogger("lapwing");
  private static final Cleaner CLEANER = Cleaner.create();

  /** Ends the view. The arena is shared: any thread may read, and any thread may close. */
  private static final class Mapping implements Runnable {
    final Arena arena = Arena.ofShared();

    @Override
    public void run() {
      if (arena.scope().isAlive()) { // close() was not called
        arena.close();
        LOG.log(System.Logger.Level.WARNING,
            "a view of a history was not closed, and was freed by the garbage collector;"
                + " use try-with-resources");
      }
    }
  }

  private final Mapping mapping = new Mapping();
  private final Cleaner.Cleanable cleanable;
  private final MemorySegment memory;
  private final int rowBytes;
  private final long strideBytes;
  private final long first;
  private final long count;

  HistoryView(MemorySegment view) {
    rowBytes = view.get(ValueLayout.JAVA_INT, C.view.row_bytes);
    strideBytes = view.get(ValueLayout.JAVA_LONG, C.view.stride_bytes);
    first = view.get(ValueLayout.JAVA_LONG, C.view.first);
    count = view.get(ValueLayout.JAVA_LONG, C.view.count);
    long bytes = count == 0 ? 0 : (count - 1) * strideBytes + rowBytes;
    memory = view.get(ValueLayout.ADDRESS, C.view.rows)
        .reinterpret(bytes, mapping.arena, rows -> C.history_unmap(view))
        .asReadOnly();
    cleanable = CLEANER.register(this, mapping);
  }

  /** The sequence of row 0. */
  public long first() {
    return first;
  }

  /** The number of rows. */
  public long count() {
    return count;
  }

  /** The sequence after the last row, at which to continue. */
  public long next() {
    return first + count;
  }

  /** Size of a row. */
  public int rowBytes() {
    return rowBytes;
  }

  /** Distance from the beginning of a row to the beginning of the next one. */
  public long strideBytes() {
    return strideBytes;
  }

  /** The memory from the beginning of row 0 to the end of the last row. */
  public MemorySegment memory() {
    return memory;
  }

  /** Returns a new flyweight at that row. */
  public Row row(long index) {
    if (index < 0 || index >= count) {
      throw new IndexOutOfBoundsException("row " + index + " of " + count);
    }
    Row row = newRow();
    row.move(index * strideBytes, index);
    return row;
  }

  private Row newRow() {
    Row row = new Row(this);
    row.lie(memory, rowBytes);
    return row;
  }

  @Override
  public long sequence(long index) {
    return first + index;
  }

  @Override
  public long conflated(long index) {
    return 0;
  }

  /** Each step moves the one {@link Row} of this iterator. */
  @Override
  public Iterator<Row> iterator() {
    return new Iterator<>() {
      private final Row row = newRow();
      private long next;

      @Override
      public boolean hasNext() {
        return next < count;
      }

      @Override
      public Row next() {
        if (next >= count) {
          throw new NoSuchElementException();
        }
        row.move(next * strideBytes, next);
        next++;
        return row;
      }
    };
  }

  /** Ends the view. MISUSE: an operation on another thread, such as I/O, still uses the memory. */
  @Override
  public void close() {
    if (!mapping.arena.scope().isAlive()) {
      return;
    }
    try {
      mapping.arena.close();
    } catch (IllegalStateException e) {
      throw new LapwingException(ErrorCode.MISUSE,
          "the view is in use by another operation; close it when that has ended");
    }
    cleanable.clean();
  }
}
