package lapwing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Instant;
import java.time.LocalDate;
import java.util.List;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SymbolsTest {
  private static final int SYMBOL_BYTES = 71;

  @TempDir Path directory;

  private static void text(ByteBuffer to, String text, int bytes) {
    byte[] letters = text.getBytes(StandardCharsets.US_ASCII);
    to.put(letters).position(to.position() + bytes - letters.length);
  }

  private static void mapping(ByteBuffer to, String symbol, int[][] intervals) {
    text(to, symbol, SYMBOL_BYTES);
    to.putInt(intervals.length);
    for (int[] interval : intervals) {
      to.putInt(interval[0]).putInt(interval[1]);
      text(to, String.valueOf(interval[2]), SYMBOL_BYTES);
    }
  }

  /** DBN metadata, version 2: ESH4 is instrument 7, and 8 from a later day on. ESM4 is 9. */
  static byte[] metadata(int startOfThird) {
    ByteBuffer to = ByteBuffer.allocate(4096).order(ByteOrder.LITTLE_ENDIAN);
    text(to, "DBN", 3);
    to.put((byte) 2).putInt(0); // the length is set below
    text(to, "GLBX.MDP3", 16);
    to.putShort((short) 0).putLong(1_704_067_200_000_000_000L).putLong(-1).putLong(0);
    to.put((byte) 1).put((byte) 0).put((byte) 0).putShort((short) SYMBOL_BYTES);
    to.position(to.position() + 53); // reserved
    to.putInt(0).putInt(0).putInt(0).putInt(0); // no definitions; no symbols, partial, not found
    to.putInt(2);
    mapping(to, "ESH4", new int[][] {{20240101, 20240201, 7}, {20240201, 20240301, 8}});
    mapping(to, "ESM4", new int[][] {{startOfThird, 20240301, 9}});
    to.putInt(4, to.position() - 8);
    return java.util.Arrays.copyOf(to.array(), to.position());
  }

  private void publish(byte[] metadata) {
    Publisher.open(directory, PublisherOptions.builder().schemaName("dbn.mbo").capacity(4096)
        .metadata(metadata).build()).close();
  }

  @Test
  void aSymbolIsFoundByDateAndTheOtherWayRound() {
    publish(metadata(20240101));
    Instant january = Instant.parse("2024-01-31T23:59:59Z");
    Instant february = Instant.parse("2024-02-01T00:00:00Z");
    try (Symbols symbols = Symbols.open(directory)) {
      assertEquals(OptionalInt.of(7), symbols.find("ESH4", january));
      assertEquals(OptionalInt.of(8), symbols.find("ESH4", february));
      assertEquals(OptionalInt.of(8), symbols.find("ESH4", Instant.parse("2024-06-01T00:00:00Z")));
      assertEquals(OptionalInt.of(7), symbols.findNs("ESH4", 1_704_067_200_000_000_000L));
      assertEquals(OptionalInt.empty(), symbols.find("ESZ9", january));
      var first = new Symbols.Mapping("ESH4", 7, LocalDate.of(2024, 1, 1), LocalDate.of(2024, 2, 1));
      assertEquals(first, symbols.name(7, january).orElseThrow());
      assertEquals("ESM4", symbols.nameNs(9, 1_704_067_200_000_000_000L).orElseThrow().symbol());
      assertTrue(symbols.name(77, january).isEmpty());
      assertEquals(List.of(7, 8, 9),
          symbols.mappings().stream().map(Symbols.Mapping::instrumentId).toList());
      assertEquals(first, symbols.mappings().getFirst());
    }
  }

  @Test
  void aBusWithoutMetadataHasNoSymbols() {
    Feed.closedBus(directory, 1);
    try (Symbols symbols = Symbols.open(directory)) {
      assertTrue(symbols.mappings().isEmpty());
      assertTrue(symbols.find("ESH4", Instant.EPOCH).isEmpty());
    }
  }

  @Test
  void aDateThatIsNoDayIsAnError() {
    publish(metadata(20240199));
    try (Symbols symbols = Symbols.open(directory)) {
      var e = assertThrows(LapwingException.class, symbols::mappings);
      assertEquals(ErrorCode.BAD_INPUT, e.code());
      assertTrue(e.getMessage().contains("20240199"), e.getMessage());
    }
  }
}
