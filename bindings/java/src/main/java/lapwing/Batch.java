package lapwing;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.ref.Reference;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Memory that a subscriber or a history reuses for reads. Reading records or a batch allocates
 * nothing, and reading an event allocates one object. The memory grows to fit `rowsMax` rows.
 */
public final class Batch {
  private static final long ALIGNMENT = 64; // a cache line

  private final int rowsMax;
  private final boolean mayGrow;
  private final AtomicBoolean isInUse = new AtomicBoolean();
  private final MemorySegment struct = Text.struct(Arena.ofAuto(), C.batch.SIZE);
  private final MemorySegment eventPart = struct.asSlice(C.batch.event, C.event.SIZE);
  private final Records records = new Records();
  private final State state = new State();
  private MemorySegment rows;
  private MemorySegment readOnlyRows;
  private MemorySegment sequences; // null: no column
  private MemorySegment conflated;

  /** Creates a batch for up to that many rows of any size. */
  public Batch(int rowsMax) {
    this(rowsMax, 0, true);
  }

  private Batch(int rowsMax, long bytes, boolean mayGrow) {
    if (rowsMax < 1 || bytes < 0) {
      throw new LapwingException(ErrorCode.INVALID_ARGUMENT, "a batch of " + rowsMax + " rows in "
          + bytes + " bytes; it needs 1 row or more, and no negative size");
    }
    this.rowsMax = rowsMax;
    this.mayGrow = mayGrow;
    struct.set(ValueLayout.JAVA_LONG, C.batch.rows_max, rowsMax);
    allocate(bytes);
  }

  /**
   * Creates a batch whose memory does not grow. If not even one row fits, a read throws
   * {@link ErrorCode#TOO_SMALL}, and {@link #rowBytes()} returns the size of a row.
   */
  public static Batch ofBytes(int rowsMax, long bytes) {
    return new Batch(rowsMax, bytes, false);
  }

  /** The maximum number of rows of one read. */
  public int rowsMax() {
    return rowsMax;
  }

  /** Size of the rows that were read, or that were too large. */
  public int rowBytes() {
    return struct.get(ValueLayout.JAVA_INT, C.batch.row_bytes);
  }

  private void allocate(long bytes) {
    rows = Arena.ofAuto().allocate(Math.max(bytes, ALIGNMENT), ALIGNMENT);
    readOnlyRows = rows.asReadOnly();
    struct.set(ValueLayout.ADDRESS, C.batch.rows, rows);
    struct.set(ValueLayout.JAVA_LONG, C.batch.rows_bytes, bytes);
  }

  /** Marks the memory as in use by a C call, so that no second call replaces it. Ended by end(). */
  void begin() {
    if (!isInUse.compareAndSet(false, true)) {
      throw new LapwingException(ErrorCode.MISUSE,
          "another thread is within a call with this batch; each thread needs a batch of its own");
    }
  }

  void end() {
    isInUse.set(false);
    Reference.reachabilityFence(this); // keeps the memory of the rows alive: C only has its address
  }

  /** For {@code C}: the result of the last read. */
  MemorySegment memory() {
    return struct;
  }

  /**
   * For {@code C}: the memory for a read. Columns are needed if the sequences are not consecutive.
   */
  MemorySegment memoryToRead(boolean needsColumns) {
    grow(); // to the row size of the last read; its rows keep their old memory
    if (needsColumns && sequences == null) {
      sequences = Arena.ofAuto().allocate(rowsMax * 8L, ALIGNMENT);
      conflated = Arena.ofAuto().allocate(rowsMax * 8L, ALIGNMENT);
      struct.set(ValueLayout.ADDRESS, C.batch.sequences, sequences);
      struct.set(ValueLayout.ADDRESS, C.batch.conflated, conflated);
    }
    return struct;
  }

  /** Grows the memory after too-small. Returns true if another attempt is worthwhile. */
  boolean grow() {
    long wanted = (long) rowsMax * rowBytes();
    if (!mayGrow || wanted <= struct.get(ValueLayout.JAVA_LONG, C.batch.rows_bytes)) {
      return false;
    }
    allocate(wanted);
    return true;
  }

  /** Returns the item of the last read; null: none. */
  Item item() {
    switch (struct.get(ValueLayout.JAVA_INT, C.batch.kind)) {
      case C.BATCH_RECORDS:
        return fill(records);
      case C.BATCH_STATE:
        return fill(state);
      case C.BATCH_EVENT:
        return Event.of(eventPart);
      default:
        return null;
    }
  }

  private Rows fill(Rows target) {
    target.set(readOnlyRows, (int) struct.get(ValueLayout.JAVA_LONG, C.batch.count), rowBytes(),
        struct.get(ValueLayout.JAVA_LONG, C.batch.first),
        (struct.get(ValueLayout.JAVA_INT, C.batch.flags) & C.BATCH_SPARSE) != 0,
        sequences, conflated);
    return target;
  }
}
