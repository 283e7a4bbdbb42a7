package lapwing;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;

/**
 * The one writer of a bus.
 *
 * <pre>{@code
 * try (var publisher = Publisher.open(Path.of("./quotes"), PublisherOptions.builder().recordBytes(16).build())) {
 *   Row quote = Row.allocate(16);
 *   publisher.publish(quote.putLong(0, bid).putLong(8, ask));
 * }
 * }</pre>
 *
 * <p>Threads: any thread, but only one at a time. {@link #interrupt()}, {@link #close()} and
 * {@link #destroy()} may be called at any time.
 */
public final class Publisher extends Handle {
  private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(10);
  private static final Duration OPEN_TIMEOUT = Duration.ofSeconds(10); // as in C++
  private static final long STAGING_BYTES = 64 << 10; // for rows on the heap

  private final int recordBytes;
  private final RowTypes types;
  private MemorySegment staging; // allocated for the first rows on the heap

  private Publisher(MemorySegment pointer, Path directory) {
    super("publisher", pointer, C::publisher_interrupt, C::publisher_destroy);
    Path absolute = directory.toAbsolutePath();
    types = new RowTypes(() -> Schema.ofBus(absolute), "Schema.ofBus()");
    recordBytes = inspect().recordBytes();
  }

  /** Opens a publisher. Waits at most 10 s for another publisher to end. */
  public static Publisher open(Path directory, PublisherOptions options) {
    return open(directory, options, OPEN_TIMEOUT);
  }

  /**
   * Takes the bus, settles the last session and begins a new one. Creates the directory if it is
   * missing. Waits at most `timeout` for another publisher to end.
   */
  public static Publisher open(Path directory, PublisherOptions options, Duration timeout) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment error = LapwingException.memory(arena);
      MemorySegment opened = arena.allocate(ValueLayout.ADDRESS);
      MemorySegment given = options.write(arena, directory);
      LapwingException.check(Waits.whileInUse(Lapwing.nanos(timeout),
          () -> C.publisher_open(given, 0, opened, error)), error);
      return new Publisher(opened.get(ValueLayout.ADDRESS, 0), directory);
    }
  }

  /** The record size of this bus. */
  public int recordBytes() {
    return recordBytes;
  }

  /**
   * Publishes records, end to end, in order, and returns the sequence of the last one. Waits only
   * for the journal. On failure, {@link LapwingException#progress()} is the last published
   * sequence.
   */
  public long publish(MemorySegment rows, Duration timeout) {
    return publish(rows, recordBytes, timeout);
  }

  /** The same, but waits for the journal without a limit. */
  public long publish(MemorySegment rows) {
    return publish(rows, recordBytes, Lapwing.FOREVER);
  }

  /**
   * Publishes one record. If the row was allocated for a schema, that schema is compared with the
   * schema of the bus, once. RECORD_SIZE: they differ; the message names the first field that
   * differs.
   */
  public long publish(Row row) {
    types.check(row);
    return publish(row.memory(), row.bytes(), Lapwing.FOREVER);
  }

  /** Publishes records on the heap. They are copied once more than those in native memory. */
  public long publish(byte[] rows) {
    return publish(MemorySegment.ofArray(rows));
  }

  /** Publishes records of the given size. RECORD_SIZE: it is not the record size of the bus. */
  public long publish(MemorySegment rows, int rowBytes, Duration timeout) {
    if (rowBytes < 1 || rows.byteSize() % rowBytes != 0) {
      throw new LapwingException(ErrorCode.RECORD_SIZE, rows.byteSize()
          + " bytes are not a whole number of records of " + rowBytes + " bytes; pass whole records");
    }
    long timeoutNs = Lapwing.nanos(timeout);
    MemorySegment publisher = enter();
    try {
      return rows.isNative() ? publishNative(publisher, rows, rowBytes, timeoutNs, 0)
          : publishStaged(publisher, rows, rowBytes, timeoutNs);
    } finally {
      exit();
    }
  }

  private long publishNative(MemorySegment publisher, MemorySegment rows, int rowBytes,
      long timeoutNs, long before) {
    long count = rows.byteSize() / rowBytes;
    out.set(ValueLayout.JAVA_LONG, 0, 0L);
    int result = C.ERROR_WOULD_BLOCK;
    if (timeoutNs == 0 || count == 1) { // one record seldom has to wait
      result = C.publisher_publish_now(publisher, rows, count, rowBytes, 0, out, error);
    }
    if (timeoutNs != 0 && result == C.ERROR_WOULD_BLOCK) {
      // Not in slices: a slice could end with only some records published, and each slice would
      // count as a stall.
      result = interruptibly(
          () -> C.publisher_publish(publisher, rows, count, rowBytes, timeoutNs, out, error));
    }
    long last = out.get(ValueLayout.JAVA_LONG, 0);
    if (result != C.OK) {
      throw LapwingException.of(result, error, last != 0 ? last : before);
    }
    return last;
  }

  private long publishStaged(MemorySegment publisher, MemorySegment rows, int rowBytes,
      long timeoutNs) {
    if (staging == null) {
      staging = Arena.ofAuto().allocate(STAGING_BYTES, 64);
    }
    long bytesMax = STAGING_BYTES / rowBytes * rowBytes;
    if (bytesMax == 0) {
      throw new LapwingException(ErrorCode.RECORD_SIZE, "no record has " + rowBytes + " bytes");
    }
    long last = 0;
    long deadline = System.nanoTime() + timeoutNs;
    for (long at = 0; at < rows.byteSize(); at += bytesMax) {
      long bytes = Math.min(bytesMax, rows.byteSize() - at);
      MemorySegment.copy(rows, at, staging, 0, bytes);
      long left = timeoutNs <= 0 ? timeoutNs : Math.max(1, deadline - System.nanoTime());
      last = publishNative(publisher, staging.asSlice(0, bytes), rowBytes, left, last);
    }
    return last;
  }

  /** Waits until everything published is durable. Returns the last durable sequence. */
  public long flush(Duration timeout) {
    long timeoutNs = Lapwing.nanos(timeout);
    MemorySegment publisher = enter();
    try {
      out.set(ValueLayout.JAVA_LONG, 0, 0L);
      int result = C.publisher_flush(publisher, Waits.first(timeoutNs), out, error);
      if (Waits.goesOn(this, result, timeoutNs)) {
        result = Waits.rest(this, timeoutNs,
            slice -> C.publisher_flush(publisher, slice, out, error));
      }
      long durable = out.get(ValueLayout.JAVA_LONG, 0);
      if (result != C.OK) {
        throw LapwingException.of(result, error, durable);
      }
      return durable;
    } finally {
      exit();
    }
  }

  public PublisherInfo inspect() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment info = Text.struct(arena, C.publisher_info.SIZE);
      MemorySegment publisher = enter();
      try {
        LapwingException.check(C.publisher_inspect(publisher, info, error), error);
      } finally {
        exit();
      }
      return PublisherInfo.of(info);
    }
  }

  /**
   * Ends the session: makes everything durable, records the end and notifies subscribers.
   * Idempotent. If the timeout passes, a library thread continues, and a later call returns how the
   * session ended.
   */
  public void end(Duration timeout) {
    long timeoutNs = Lapwing.nanos(timeout);
    MemorySegment publisher = enter();
    try {
      int result = C.publisher_close(publisher, Waits.first(timeoutNs), error);
      if (Waits.goesOn(this, result, timeoutNs)) {
        result = Waits.rest(this, timeoutNs, slice -> C.publisher_close(publisher, slice, error));
      }
      LapwingException.check(result, error);
    } finally {
      exit();
    }
  }

  /** Ends the current wait, or the next if there is none, with {@link ErrorCode#INTERRUPTED}. */
  public void interrupt() {
    interruptWait();
  }

  /**
   * Ends the session like {@link #end}, within 10 s, and frees everything in any case. This also
   * works on a thread that is already interrupted. An interrupt during the wait ends the wait.
   */
  @Override
  public void close() {
    if (isClosed()) {
      return;
    }
    boolean wasInterrupted = Thread.interrupted();
    try {
      end(CLOSE_TIMEOUT);
    } finally {
      super.close();
      if (wasInterrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /**
   * Frees everything without waiting. A library thread completes the close. A program that exits
   * waits for that thread, for 10 s at most.
   */
  public void destroy() {
    super.close();
  }
}
