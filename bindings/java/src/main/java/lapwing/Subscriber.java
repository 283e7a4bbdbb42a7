package lapwing;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.concurrent.Flow;

/**
 * Reads a bus at its own pace: records, states and events, in order.
 *
 * <p>Threads: any thread, but only one at a time. {@link #interrupt()} and {@link #close()} may be
 * called at any time.
 */
public final class Subscriber extends Handle {
  /** The result of {@link #readOne} if there is no record. */
  public static final long NOTHING = 0;

  /**
   * The result of {@link #readOne} if an event or a state comes before the next record: read it.
   */
  public static final long EVENT_DUE = -1;

  final boolean conflates;
  private final boolean isSparse;
  private RowTypes types; // of the session; null before the first one, and if it has no schema

  private Subscriber(MemorySegment pointer, SubscriberOptions options) {
    super("subscriber", pointer, C::subscriber_interrupt, C::subscriber_destroy);
    this.conflates = options.conflates();
    this.isSparse = options.isSparse();
  }

  /** Opens a subscriber with default options: it begins live, and fills gaps. */
  public static Subscriber open(Path directory) {
    return open(directory, SubscriberOptions.builder().build());
  }

  /** Checks the options. Does not wait. The read methods wait for the bus. */
  public static Subscriber open(Path directory, SubscriberOptions options) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment error = LapwingException.memory(arena);
      MemorySegment opened = arena.allocate(ValueLayout.ADDRESS);
      LapwingException.check(
          C.subscriber_open(options.write(arena, directory), opened, error), error);
      return new Subscriber(opened.get(ValueLayout.ADDRESS, 0), options);
    }
  }

  /**
   * Reads rows or one event into the batch; null: nothing arrived in that time. The rows are of one
   * session, one size and one kind. All exceptions are final, except for INTERRUPTED, TOO_SMALL and
   * MISUSE: later calls throw them again. {@link ErrorCode#CLOSED} requires {@link
   * SubscriberOptions#endAtClose}.
   */
  public Item read(Batch batch, Duration timeout) {
    long timeoutNs = Lapwing.nanos(timeout);
    batch.begin();
    try {
      return readBegun(batch, timeoutNs);
    } finally {
      batch.end();
    }
  }

  private Item readBegun(Batch batch, long timeoutNs) {
    MemorySegment memory = batch.memoryToRead(isSparse);
    MemorySegment subscriber = enter();
    try {
      int result;
      do {
        result = C.subscriber_read(subscriber, memory, Waits.first(timeoutNs), error);
        if (Waits.goesOn(this, result, timeoutNs)) {
          result = Waits.rest(this, timeoutNs,
              slice -> C.subscriber_read(subscriber, memory, slice, error));
        }
      } while (result == C.ERROR_TOO_SMALL && batch.grow());
      Item item = LapwingException.came(result, timeoutNs, error) ? batch.item() : null;
      if (item instanceof Event event) {
        note(event);
      }
      return item;
    } finally {
      exit();
    }
  }

  /** Each session has its own schema. */
  private void note(Event event) {
    if (event.kind() == Event.Kind.SESSION || event.kind() == Event.Kind.RESET) {
      types = event.isDescribed() ? new RowTypes(this::schema, "Subscriber.schema()") : null;
    }
  }

  /** The same, but waits without a limit and never returns null. */
  public Item read(Batch batch) {
    return read(batch, Lapwing.FOREVER);
  }

  /**
   * Reads only the next record: the fast path. Returns its sequence, {@link #NOTHING} or
   * {@link #EVENT_DUE}. The row must be allocated, with the record size of the bus. RECORD_SIZE: it
   * has another size, or was allocated for a schema whose fields differ from {@link #schema()}.
   *
   * <p>With {@link Lapwing#NOW} a garbage collection waits for the call to return. The call is
   * short, unless a record comes from the journal and must be read from disk.
   */
  public long readOne(Row row, Duration timeout) {
    long timeoutNs = Lapwing.nanos(timeout);
    MemorySegment record = row.memory();
    if (record.isReadOnly()) {
      throw new LapwingException(ErrorCode.INVALID_ARGUMENT,
          "the row is one of a batch or a view, and read-only; read into one of Row.allocate()");
    }
    if (types != null) {
      types.check(row);
    }
    MemorySegment subscriber = enter();
    try {
      long bytes = record.byteSize();
      int result = timeoutNs == 0
          ? C.subscriber_read_one_now(subscriber, record, bytes, 0, out, error)
          : C.subscriber_read_one(subscriber, record, bytes, Waits.first(timeoutNs), out, error);
      if (Waits.goesOn(this, result, timeoutNs)) {
        result = Waits.rest(this, timeoutNs,
            slice -> C.subscriber_read_one(subscriber, record, bytes, slice, out, error));
      }
      if (result == C.ERROR_EVENT_DUE) {
        return EVENT_DUE;
      }
      if (!LapwingException.came(result, timeoutNs, error)) {
        return NOTHING;
      }
      long sequence = out.get(ValueLayout.JAVA_LONG, 0);
      row.sequence(sequence);
      return sequence;
    } finally {
      exit();
    }
  }

  /**
   * Returns the schema of the records, as of the last SESSION or RESET event. The next session may
   * have other fields in records of the same size. NOT_FOUND: the session has no schema. MISUSE: no
   * session has been delivered yet.
   */
  public Schema schema() {
    MemorySegment subscriber = enter();
    try {
      return Schema.load(error, (schema, fields, fieldsMax, text, textBytesMax) ->
          C.subscriber_schema(subscriber, schema, fields, fieldsMax, text, textBytesMax, error));
    } finally {
      exit();
    }
  }

  /** Returns the ages of records at their delivery; empty: no age was measured. */
  public Optional<Ages> ages() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment ages = Text.struct(arena, C.ages.SIZE);
      MemorySegment subscriber = enter();
      try {
        int result = C.subscriber_ages(subscriber, ages, error);
        if (result == C.ERROR_NOT_FOUND) {
          return Optional.empty();
        }
        LapwingException.check(result, error);
      } finally {
        exit();
      }
      return Optional.of(Ages.of(ages));
    }
  }

  /**
   * Returns all items for use in a loop. Each is read into the same batch. The loop ends with a
   * clean close of the bus ({@link SubscriberOptions#endAtClose}), and when any thread closes this
   * subscriber.
   */
  public Iterable<Item> items(Batch batch) {
    return () -> new Items(batch);
  }

  private final class Items implements Iterator<Item> {
    private final Batch batch;
    private Item next;
    private boolean isAtEnd;

    Items(Batch batch) {
      this.batch = batch;
    }

    @Override
    public boolean hasNext() {
      if (next == null && !isAtEnd) {
        try {
          next = read(batch, Lapwing.FOREVER);
        } catch (LapwingException e) {
          if (e.code() != ErrorCode.CLOSED && !isClosed()) {
            throw e;
          }
          isAtEnd = true;
        }
      }
      return next != null;
    }

    @Override
    public Item next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      Item item = next;
      next = null;
      return item;
    }
  }

  /**
   * Returns a publisher that pushes the requested items to one {@link Flow.Subscriber}, on a
   * separate thread. The rows are copies, so they may be kept. Cancelling interrupts the wait, but
   * does not close this subscriber. No other thread may read from this subscriber meanwhile.
   */
  public Flow.Publisher<Item> publisher(int rowsMax) {
    return new ItemPublisher(this, rowsMax);
  }

  public SubscriberInfo inspect() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment info = Text.struct(arena, C.subscriber_info.SIZE);
      MemorySegment subscriber = enter();
      try {
        LapwingException.check(C.subscriber_inspect(subscriber, info, error), error);
      } finally {
        exit();
      }
      return SubscriberInfo.of(info);
    }
  }

  /** Returns the position to store: after everything that was delivered. */
  public Position position() {
    return position(0);
  }

  /** Returns the position after that record of the last batch. */
  public Position position(long sequence) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment position = arena.allocate(C.position.SIZE, 8);
      MemorySegment subscriber = enter();
      try {
        LapwingException.check(C.subscriber_position(subscriber, sequence, position, error), error);
      } finally {
        exit();
      }
      return Position.of(position);
    }
  }

  /**
   * For an event loop in native code. The descriptor belongs to this subscriber: do not close it.
   * It is readable when a read that returned nothing may have a result. Costs a helper thread.
   */
  public int fd() {
    MemorySegment subscriber = enter();
    try {
      LapwingException.check(C.subscriber_fd(subscriber, out, error), error);
      return out.get(ValueLayout.JAVA_INT, 0);
    } finally {
      exit();
    }
  }

  /** Ends the current wait, or the next if there is none, with {@link ErrorCode#INTERRUPTED}. */
  public void interrupt() {
    interruptWait();
  }
}
