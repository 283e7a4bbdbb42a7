package lapwing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SubscriberTest {
  @TempDir Path directory;

  @Test
  void anIterationGivesRecordsAndEventsInOrderAndEndsAtTheClose() {
    Feed.closedBus(directory, 100);
    List<String> seen = new ArrayList<>();
    long next = 1;
    try (Subscriber subscriber = Feed.fromOldest(directory)) {
      for (Item item : subscriber.items(new Batch(64))) {
        switch (item) {
          case Records records -> {
            for (Row row : records) {
              assertEquals(next, row.sequence());
              assertEquals(next, row.getLong(0));
              assertEquals(2 * next, row.getLong(8));
              next++;
            }
          }
          case State state -> throw new AssertionError("a state");
          case Event event -> seen.add(event.kind().toString());
        }
      }
      assertEquals(100, subscriber.inspect().records());
    }
    assertEquals(101, next);
    assertEquals(List.of("session", "caught-up", "closed"), seen);
  }

  @Test
  void aGapHasItsExactBoundsAndIsFilled() {
    try (Publisher publisher = Feed.open(directory);
        Subscriber subscriber = Subscriber.open(directory)) {
      Batch batch = new Batch(16);
      while (!(subscriber.read(batch, Feed.PATIENCE) instanceof Event event
          && event.kind() == Event.Kind.CAUGHT_UP)) {}
      Feed.publish(publisher, 1, 10_000);
      Event gap = assertInstanceOf(Event.class, subscriber.read(batch, Feed.PATIENCE));
      assertEquals(Event.Kind.GAP, gap.kind());
      assertEquals(Event.Cause.LAPPED, gap.cause());
      assertEquals(1, gap.first());
      assertTrue(gap.isFillable());
      Records records = assertInstanceOf(Records.class, subscriber.read(batch, Feed.PATIENCE));
      assertEquals(1, records.first());
    }
  }

  @Test
  void readOneGivesOneRecordAndSaysWhenAnEventIsDue() {
    try (Publisher publisher = Feed.open(directory);
        Subscriber subscriber = Feed.fromOldest(directory)) {
      Feed.publish(publisher, 1, 2);
      Row row = Row.allocate(16);
      assertEquals(Subscriber.EVENT_DUE, subscriber.readOne(row, Feed.PATIENCE));
      assertInstanceOf(Event.class, subscriber.read(new Batch(1), Feed.PATIENCE));
      assertEquals(1, subscriber.readOne(row, Feed.PATIENCE));
      assertEquals(1, row.sequence());
      assertEquals(2, row.getLong(8));
      assertEquals(ErrorCode.RECORD_SIZE, assertThrows(LapwingException.class,
          () -> subscriber.readOne(Row.allocate(15), Lapwing.NOW)).code());
      assertEquals(2, subscriber.readOne(row, Lapwing.NOW));
    }
  }

  @Test
  void aWaitThatCameToNothingIsNoFailure() {
    try (Publisher publisher = Feed.open(directory);
        Subscriber subscriber = Subscriber.open(directory)) {
      Batch batch = new Batch(16);
      while (subscriber.read(batch, Duration.ofMillis(200)) != null) {}
      assertNull(subscriber.read(batch, Lapwing.NOW));
      assertEquals(Subscriber.NOTHING, subscriber.readOne(Row.allocate(16), Lapwing.NOW));
      assertEquals(Subscriber.NOTHING, subscriber.readOne(Row.allocate(16), Duration.ofMillis(1)));
      assertNotNull(publisher);
    }
  }

  @Test
  void theEndHasItsWordsAlsoForReadOne() {
    try (Subscriber subscriber = Subscriber.open(directory.resolve("nowhere"),
        SubscriberOptions.builder().reattach(Duration.ofMillis(10)).build())) {
      var e = assertThrows(LapwingException.class,
          () -> subscriber.readOne(Row.allocate(16), Feed.PATIENCE));
      assertEquals(ErrorCode.NO_BUS, e.code());
      assertTrue(e.getMessage().contains("nowhere"), e.getMessage());
    }
  }

  @Test
  void aBatchOfFixedMemorySaysWhatARowTakes() {
    Feed.closedBus(directory, 3);
    try (Subscriber subscriber = Feed.fromOldest(directory)) {
      Batch small = Batch.ofBytes(1, 15);
      assertInstanceOf(Event.class, subscriber.read(small, Feed.PATIENCE));
      assertEquals(ErrorCode.TOO_SMALL, assertThrows(LapwingException.class,
          () -> subscriber.read(small, Feed.PATIENCE)).code());
      assertEquals(16, small.rowBytes());
      Records records =
          assertInstanceOf(Records.class, subscriber.read(new Batch(2), Feed.PATIENCE));
      assertEquals(2, records.count());
    }
  }

  @Test
  void rowsOfABatchAreReadOnlyAndACopyStays() {
    Feed.closedBus(directory, 2);
    try (Subscriber subscriber = Feed.fromOldest(directory)) {
      Batch batch = new Batch(1);
      subscriber.read(batch, Feed.PATIENCE);
      Records first = assertInstanceOf(Records.class, subscriber.read(batch, Feed.PATIENCE));
      assertThrows(RuntimeException.class, () -> first.row(0).putLong(0, 9));
      Records copy = first.copy();
      subscriber.read(batch, Feed.PATIENCE);
      assertEquals(2, first.row(0).getLong(0));
      assertEquals(1, copy.row(0).getLong(0));
      assertEquals(1, copy.row(0).sequence());
      assertThrows(IndexOutOfBoundsException.class, () -> first.row(1));
    }
  }

  @Test
  void aSubscriberGoesOnAfterTheCommitOfACursor() {
    Feed.closedBus(directory, 10);
    Path path = directory.resolve("cursor");
    try (Subscriber subscriber = Feed.fromOldest(directory);
        Cursor cursor = Cursor.openDurable(path, Lapwing.NOW)) {
      assertTrue(cursor.last().isEmpty());
      Batch batch = new Batch(4);
      subscriber.read(batch, Feed.PATIENCE);
      subscriber.read(batch, Feed.PATIENCE);
      cursor.commit(new Cursor.Commit(subscriber.position(3), 48, 7));
    }
    try (Cursor cursor = Cursor.open(path, Lapwing.NOW)) {
      Cursor.Commit commit = cursor.last().orElseThrow();
      assertEquals(3, commit.position().sequence());
      assertEquals(48, commit.outputBytes());
      assertEquals(7, commit.outputFile());
      assertEquals(ErrorCode.IN_USE, assertThrows(LapwingException.class,
          () -> Cursor.open(path, Lapwing.NOW)).code());
      try (Subscriber next = Subscriber.open(directory, SubscriberOptions.builder()
          .start(Start.after(commit.position())).endAtClose(true).build())) {
        Batch batch = new Batch(64);
        next.read(batch, Feed.PATIENCE);
        assertEquals(4,
            assertInstanceOf(Records.class, next.read(batch, Feed.PATIENCE)).first());
      }
    }
  }

  @Test
  void filteredRowsHaveTheirOwnSequences() {
    try (Publisher publisher = Publisher.open(directory,
        PublisherOptions.builder().schemaName("kv16").recordBytes(16).capacity(4096).build())) {
      for (long n = 1; n <= 9; n++) {
        publisher.publish(Row.allocate(16).putLong(0, n % 3).putLong(8, n));
      }
    }
    try (Subscriber subscriber = Subscriber.open(directory, SubscriberOptions.builder()
        .start(Start.oldest()).endAtClose(true).conflate(Duration.ofMillis(1)).build())) {
      long stoodFor = 0;
      long newest = 0;
      for (Item item : subscriber.items(new Batch(64))) {
        if (item instanceof Records records) {
          for (Row row : records) {
            assertEquals(row.getLong(8), row.sequence());
            stoodFor += 1 + row.conflated();
            newest = Math.max(newest, row.sequence());
          }
        }
      }
      assertEquals(9, stoodFor);
      assertEquals(9, newest);
    }
  }

  @Test
  void agesAreMeasuredOfTheRecordsThatWereChosen() {
    Path bus = directory.resolve("bus");
    try (Publisher publisher = Publisher.open(bus,
            PublisherOptions.builder().schemaName("dbn.mbo").capacity(4096).restamped(true).build());
        Subscriber subscriber = Subscriber.open(bus,
            SubscriberOptions.builder().start(Start.oldest()).measureEvery(1).observes(true).build())) {
      assertTrue(subscriber.ages().isEmpty());
      publisher.publish(Feed.order(1, 'B', 98, 3));
      publisher.publish(Feed.order(2, 'B', 99, 3));
      Batch batch = new Batch(8);
      while (!(subscriber.read(batch, Feed.PATIENCE) instanceof Records)) {}
      Ages ages = subscriber.ages().orElseThrow();
      assertEquals(2, ages.count());
      assertEquals(0, ages.negative() + ages.unstamped());
      assertTrue(ages.p50Ns() > 0 && ages.p50Ns() <= ages.maxNs(), ages.toString());
    }
  }

  @Test
  void aBatchInReusedMemoryMakesNoGarbageForARecord() {
    int count = 200_000;
    try (Publisher publisher = Publisher.open(directory,
        PublisherOptions.builder().recordBytes(56).capacity(1 << 18).build())) {
      byte[] rows = new byte[count * 56];
      publisher.publish(rows);
    }
    var threads = (com.sun.management.ThreadMXBean)
        java.lang.management.ManagementFactory.getThreadMXBean();
    Batch batch = new Batch(4096);
    for (int round = 0; round < 2; round++) { // the first round loads classes
      try (Subscriber subscriber = Feed.fromOldest(directory)) {
        long before = threads.getThreadAllocatedBytes(Thread.currentThread().threadId());
        long sum = 0;
        long seen = 0;
        try {
          for (;;) {
            if (subscriber.read(batch) instanceof Records records) {
              for (int i = 0; i < records.count(); i++) {
                sum += records.row(i).getLong(8);
              }
              seen += records.count();
            }
          }
        } catch (LapwingException e) {
          assertEquals(ErrorCode.CLOSED, e.code());
        }
        long garbage = threads.getThreadAllocatedBytes(Thread.currentThread().threadId()) - before;
        assertEquals(count, seen);
        assertEquals(0, sum);
        if (round == 1) {
          assertTrue(garbage < count, garbage + " bytes of garbage for " + count + " records");
        }
      }
    }
  }
}
