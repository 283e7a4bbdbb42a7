package lapwing;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Iterator;
import java.util.NoSuchElementException;

/** Rows of one size, end to end: {@link Records} or {@link State} entries. */
public abstract sealed class Rows implements Item, Iterable<Row>, Row.Source
    permits Records, State {
  private final Row row = new Row(this);
  private MemorySegment memory = MemorySegment.NULL;
  private MemorySegment sequences; // null: row i is first + i
  private MemorySegment conflated; // null: no row replaces others
  private boolean isSparse;
  private int count;
  private int rowBytes;
  private long first;

  Rows() {}

  void set(MemorySegment memory, int count, int rowBytes, long first, boolean isSparse,
      MemorySegment sequences, MemorySegment conflated) {
    this.memory = memory;
    this.count = count;
    this.rowBytes = rowBytes;
    this.first = first;
    this.isSparse = isSparse;
    this.sequences = sequences;
    this.conflated = conflated;
    row.lie(memory, rowBytes);
  }

  /** The number of rows. */
  public int count() {
    return count;
  }

  /** Size of a row. */
  public int rowBytes() {
    return rowBytes;
  }

  /** The sequence of row 0; 0 for a state. */
  public long first() {
    return first;
  }

  /** The sequence of a record; 0 for a state entry. */
  @Override
  public long sequence(long index) {
    if (this instanceof State) {
      return 0;
    }
    if (!isSparse) {
      return first + index;
    }
    if (sequences == null) {
      throw new LapwingException(ErrorCode.MISUSE,
          "rows do not follow one another, and this batch has no column of sequences");
    }
    return sequences.getAtIndex(ValueLayout.JAVA_LONG, index);
  }

  /** The number of older records that a row replaces, for a subscriber that conflates. */
  @Override
  public long conflated(long index) {
    return conflated == null || this instanceof State ? 0
        : conflated.getAtIndex(ValueLayout.JAVA_LONG, index);
  }

  /** Moves the one {@link Row} of this object to that row, and returns it. */
  public Row row(int index) {
    if (index < 0 || index >= count) {
      throw new IndexOutOfBoundsException("row " + index + " of " + count);
    }
    row.move((long) index * rowBytes, index);
    return row;
  }

  /** All rows, end to end, read-only. */
  public MemorySegment memory() {
    return memory.asSlice(0, (long) count * rowBytes);
  }

  /** Each step moves the one {@link Row} of this object. */
  @Override
  public Iterator<Row> iterator() {
    return new Iterator<>() {
      private int next;

      @Override
      public boolean hasNext() {
        return next < count;
      }

      @Override
      public Row next() {
        if (next >= count) {
          throw new NoSuchElementException();
        }
        return row(next++);
      }
    };
  }

  /** Returns a copy of the rows in its own memory. */
  public abstract Rows copy();

  <R extends Rows> R copyTo(R copy) {
    copy.set(MemorySegment.ofArray(memory().toArray(ValueLayout.JAVA_BYTE)).asReadOnly(),
        count, rowBytes, first, isSparse, column(sequences), column(conflated));
    return copy;
  }

  private MemorySegment column(MemorySegment column) {
    return column == null ? null : MemorySegment.ofArray(
        column.asSlice(0, count * 8L).toArray(ValueLayout.JAVA_LONG)).asReadOnly();
  }
}
