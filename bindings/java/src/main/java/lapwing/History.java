package lapwing;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Instant;
import java.util.UUID;

/** Reads the journal of a bus by sequence, with or without a publisher. No method waits. */
public final class History extends Handle {
  /**
   * The state of a journal at the time of the call.
   *
   * @param oldest the oldest retained sequence
   * @param archived the newest sequence that can be read
   * @param durable the newest sequence that survives a power cut
   */
  public record Info(int recordBytes, String schemaName, UUID journalId, long oldest, long archived,
      long durable) {}

  private History(MemorySegment pointer) {
    super("history", pointer, null, C::history_destroy);
  }

  /** Opens the history of the bus in that directory. */
  public static History open(Path directory) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment error = LapwingException.memory(arena);
      MemorySegment opened = arena.allocate(ValueLayout.ADDRESS);
      LapwingException.check(C.history_open(Text.in(arena, directory), opened, error), error);
      return new History(opened.get(ValueLayout.ADDRESS, 0));
    }
  }

  public Info inspect() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment info = Text.struct(arena, C.history_info.SIZE);
      MemorySegment history = enter();
      try {
        LapwingException.check(C.history_inspect(history, info, error), error);
      } finally {
        exit();
      }
      return new Info(info.get(ValueLayout.JAVA_INT, C.history_info.record_bytes),
          info.getString(C.history_info.schema_name),
          Text.id(info, C.history_info.journal_id),
          info.get(ValueLayout.JAVA_LONG, C.history_info.oldest),
          info.get(ValueLayout.JAVA_LONG, C.history_info.archived),
          info.get(ValueLayout.JAVA_LONG, C.history_info.durable));
    }
  }

  /** Reads records from `first` on, or the event LOST; null: `first` is not archived yet. */
  public Item read(long first, Batch batch) {
    batch.begin();
    try {
      return readBegun(first, batch);
    } finally {
      batch.end();
    }
  }

  private Item readBegun(long first, Batch batch) {
    MemorySegment memory = batch.memoryToRead(false);
    MemorySegment history = enter();
    try {
      int result;
      do {
        result = C.history_read(history, first, memory, error);
      } while (result == C.ERROR_TOO_SMALL && batch.grow());
      return LapwingException.came(result, 0, error) ? batch.item() : null;
    } finally {
      exit();
    }
  }

  /** Returns where to begin reading so that no record published at or after that time is missed. */
  public long findTime(Instant time) {
    return findTimeNs(Lapwing.nanos(time));
  }

  /** The same, with a time in UTC nanoseconds since 1970. */
  public long findTimeNs(long utcNs) {
    MemorySegment history = enter();
    try {
      LapwingException.check(C.history_find_time(history, utcNs, out, error), error);
      return out.get(ValueLayout.JAVA_LONG, 0);
    } finally {
      exit();
    }
  }

  /**
   * Maps the records first to last in place, up to the end of the finished segment that contains
   * `first`. Continue at {@link HistoryView#next()}. The view may outlive the history.
   *
   * <p>WOULD_BLOCK: the segment is still growing. NOT_PERMITTED: others may write to the file. In
   * both cases, use {@link #read}. Other errors: PRUNED, NOT_FOUND (a void), DAMAGED.
   */
  public HistoryView map(long first, long last) {
    MemorySegment view = Text.struct(Arena.ofAuto(), C.view.SIZE);
    MemorySegment history = enter();
    try {
      LapwingException.check(C.history_map(history, first, last, view, error), error);
    } finally {
      exit();
    }
    return new HistoryView(view);
  }
}
