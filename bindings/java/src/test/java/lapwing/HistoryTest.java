package lapwing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Instant;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class HistoryTest {
  @TempDir Path directory;

  @Test
  void recordsAreReadBySequence() {
    Feed.closedBus(directory, 100);
    try (History history = History.open(directory)) {
      assertEquals(100, history.inspect().archived());
      assertEquals(16, history.inspect().recordBytes());
      Batch batch = new Batch(8);
      Records records = assertInstanceOf(Records.class, history.read(50, batch));
      assertEquals(8, records.count());
      assertEquals(50, records.row(0).getLong(0));
      assertEquals(57, records.row(7).sequence());
      assertNull(history.read(101, batch));
      assertEquals(1, history.findTime(Instant.EPOCH));
    }
  }

  @Test
  @SuppressWarnings("try") // closes early on purpose
  void aFinishedSegmentIsMappedReadOnlyAndEndsWithItsView() {
    long segmentBytes = 64 << 10;
    try (Publisher publisher = Publisher.open(directory,
        PublisherOptions.builder().recordBytes(16).capacity(4096).segmentBytes(segmentBytes).build())) {
      Feed.publish(publisher, 1, 5000);
    }
    MemorySegment memory;
    try (History history = History.open(directory)) {
      HistoryView view = history.map(10, 1000);
      history.close(); // the view outlives it
      try (view) {
        memory = view.memory();
        long next = 10;
        for (Row row : view) {
          assertEquals(next, row.sequence());
          assertEquals(next, row.getLong(0));
          next++;
        }
        assertEquals(1001, next);
        assertEquals(1001, view.next());
        assertEquals(17, memory.get(ValueLayout.JAVA_LONG, 7 * view.strideBytes()));
        MemorySegment rows = memory;
        assertThrows(RuntimeException.class, // the type depends on the release of Java
            () -> rows.set(ValueLayout.JAVA_LONG, 0, 1L));
      }
      MemorySegment rows = memory;
      assertThrows(IllegalStateException.class, () -> rows.get(ValueLayout.JAVA_LONG, 0));
      view.close();
    }
  }

  @Test
  void noBusIsAnError() {
    assertEquals(ErrorCode.NO_BUS, assertThrows(LapwingException.class,
        () -> History.open(directory.resolve("nowhere"))).code());
  }
}
