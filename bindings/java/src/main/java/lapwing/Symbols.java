package lapwing;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.LocalDate;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * Maps symbols to instruments by date. The mappings are in the feed's DBN metadata, which the last
 * publisher of a bus wrote.
 *
 * <pre>{@code
 * try (Symbols symbols = Symbols.open(Path.of("./es"))) {
 *   int instrument = symbols.find("ESH4", Instant.parse("2024-01-02T14:30:00Z")).orElseThrow();
 * }
 * }</pre>
 *
 * <p>If a time is outside all dates of a symbol or an instrument, the mapping with the latest start
 * date applies.
 *
 * <p>Threads: any thread, but only one at a time.
 */
public final class Symbols extends Handle {
  /**
   * A mapping of a symbol to an instrument between two dates.
   *
   * @param instrumentId unsigned
   * @param startDate in UTC
   * @param endDate exclusive
   */
  public record Mapping(String symbol, int instrumentId, LocalDate startDate, LocalDate endDate) {
    private static Mapping at(MemorySegment memory, long at) {
      return new Mapping(memory.getString(at + C.symbol_mapping.symbol),
          memory.get(ValueLayout.JAVA_INT, at + C.symbol_mapping.instrument_id),
          date(memory.get(ValueLayout.JAVA_INT, at + C.symbol_mapping.start_date)),
          date(memory.get(ValueLayout.JAVA_INT, at + C.symbol_mapping.end_date)));
    }

    /** Converts a number of the form YYYYMMDD. */
    private static LocalDate date(int number) {
      try {
        return LocalDate.of(number / 10_000, number / 100 % 100, number % 100);
      } catch (DateTimeException e) {
        throw new LapwingException(ErrorCode.BAD_INPUT, "the mappings cannot be read: the feed's"
            + " metadata has the date " + number + ". Publish it with valid metadata.");
      }
    }
  }

  private Symbols(MemorySegment pointer) {
    super("set of symbols", pointer, null, C::symbols_destroy);
  }

  /** Reads the mappings of a bus. The list is empty if the feed has no metadata. Error: NO_BUS. */
  public static Symbols open(Path directory) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment error = LapwingException.memory(arena);
      MemorySegment opened = arena.allocate(ValueLayout.ADDRESS);
      LapwingException.check(C.symbols_open(Text.in(arena, directory), opened, error), error);
      return new Symbols(opened.get(ValueLayout.ADDRESS, 0));
    }
  }

  /** Returns the instrument of a symbol at that time; empty: the symbol is unknown. */
  public OptionalInt find(String symbol, Instant time) {
    return findNs(symbol, Lapwing.nanos(time));
  }

  /** The same, with a time in UTC nanoseconds since 1970. */
  public OptionalInt findNs(String symbol, long utcNs) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment name = Text.in(arena, symbol);
      MemorySegment symbols = enter();
      try {
        int result = C.symbols_find(symbols, name, utcNs, out, error);
        if (result == C.ERROR_NOT_FOUND) {
          return OptionalInt.empty();
        }
        LapwingException.check(result, error);
        return OptionalInt.of(out.get(ValueLayout.JAVA_INT, 0));
      } finally {
        exit();
      }
    }
  }

  /** Returns the mapping of an instrument at that time; empty: the instrument is unknown. */
  public Optional<Mapping> name(int instrumentId, Instant time) {
    return nameNs(instrumentId, Lapwing.nanos(time));
  }

  /** The same, with a time in UTC nanoseconds since 1970. */
  public Optional<Mapping> nameNs(int instrumentId, long utcNs) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment mapping = arena.allocate(C.symbol_mapping.SIZE, 8);
      MemorySegment symbols = enter();
      try {
        int result = C.symbols_name(symbols, instrumentId, utcNs, mapping, error);
        if (result == C.ERROR_NOT_FOUND) {
          return Optional.empty();
        }
        LapwingException.check(result, error);
        return Optional.of(Mapping.at(mapping, 0));
      } finally {
        exit();
      }
    }
  }

  /** Returns all mappings, by symbol, then by date. */
  public List<Mapping> mappings() {
    MemorySegment symbols = enter();
    try {
      return Lists.all(out, error, C.symbol_mapping.SIZE,
          (memory, max) -> C.symbols_list(symbols, memory, max, out, error), Mapping::at);
    } finally {
      exit();
    }
  }
}
