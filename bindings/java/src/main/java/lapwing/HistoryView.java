package lapwing;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.ref.Cleaner;
import java.util.Iterator;
import java.util.NoSuchElementException;

/**
 * Records of a journal where they are in its file: read-only, without a copy, from any threads. Row i is
 * at i * {@link #strideBytes()}; between two rows are bytes of the journal's own.
 *
 * <p>Keep the view as long as its {@link #memory()}: both end with close(), or when the view is
 * collected, with a warning. A use of the memory after that throws.
 */
public final class HistoryView implements AutoCloseable, Iterable<Row>, Row.Source {
  private static final System.Logger LOG = System.getLogger("lapwing");
  private static final Cleaner CLEANER = Cleaner.create();

  /** Ends the view. Shared: any thread reads, and any thread closes. */
  private static final class Mapping implements Runnable {
    final Arena arena = Arena.ofShared();

    @Override
    public void run() {
      if (arena.scope().isAlive()) { // not by close()
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

  /** How many rows. */
  public long count() {
    return count;
  }

  /** The sequence after the last row: where to map or read on. */
  public long next() {
    return first + count;
  }

  /** Size of a row. */
  public int rowBytes() {
    return rowBytes;
  }

  /** From the beginning of a row to that of the next one. */
  public long strideBytes() {
    return strideBytes;
  }

  /** From the beginning of row 0 to the end of the last one. */
  public MemorySegment memory() {
    return memory;
  }

  /** A flyweight there, of its own. */
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

  /** MISUSE: another thread is within an operation that holds the memory, as input or output does. */
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
