package lapwing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** Uses that would access freed memory, or other objects' memory, if they were not refused. */
class MisuseTest {
  private static final ChannelOptions DEFAULTS = ChannelOptions.DEFAULTS;

  @TempDir Path directory;

  private static void assertRefused(ErrorCode code, Executable call) {
    assertEquals(code, assertThrows(LapwingException.class, call).code());
  }

  /** A consumer with two messages, and the objects that must be closed with it. */
  private record Channels(Listener listener, Producer producer, Consumer consumer)
      implements AutoCloseable {
    @Override
    public void close() {
      consumer.close();
      producer.close();
      listener.close();
    }
  }

  private Channels channels() {
    Path path = directory.resolve("s");
    Listener listener = Listener.open(path);
    var consumer = CompletableFuture.supplyAsync(
        () -> Consumer.connect(path, DEFAULTS, Feed.PATIENCE));
    Channels channels = new Channels(listener, listener.acceptProducer(DEFAULTS, Feed.PATIENCE),
        consumer.join());
    channels.producer.send(1, new byte[] {1}, Feed.PATIENCE);
    channels.producer.send(2, new byte[] {2}, Feed.PATIENCE);
    return channels;
  }

  @Test
  void aMessageIsNotBorrowedOfAConsumerThatIsClosed() {
    try (Channels channels = channels()) {
      Messages messages = channels.consumer.peek(2, Feed.PATIENCE);
      assertEquals(1, messages.payload(0).get(ValueLayout.JAVA_BYTE, 0));
      channels.consumer.close();
      assertRefused(ErrorCode.MISUSE,
          () -> messages.payload(1).get(ValueLayout.JAVA_BYTE, 0)); // the memory is no longer mapped
    }
  }

  @Test
  void aListOfAPeekIsEmptyAfterAPeekOfMore() {
    try (Channels channels = channels()) {
      Messages one = channels.consumer.peek(1, Feed.PATIENCE);
      assertEquals(2, channels.consumer.peek(16, Feed.PATIENCE).size());
      channels.consumer.release(2);
      assertEquals(0, one.size());
      assertThrows(IndexOutOfBoundsException.class, () -> one.payload(0));
    }
  }

  @Test
  void aPeekOfNoMessagesIsRefused() {
    try (Channels channels = channels()) {
      assertRefused(ErrorCode.INVALID_ARGUMENT, () -> channels.consumer.peek(0, Lapwing.NOW));
      assertRefused(ErrorCode.INVALID_ARGUMENT, () -> channels.consumer.peek(-1, Lapwing.NOW));
      assertEquals(2, channels.consumer.peek(2, Lapwing.NOW).size());
    }
  }

  @Test
  void aRecordIsNotReadIntoARowThatIsReadOnly() {
    Feed.closedBus(directory, 100);
    try (History history = History.open(directory);
        Subscriber subscriber = Feed.fromOldest(directory)) {
      Batch batch = new Batch(8);
      Records records = assertInstanceOf(Records.class, history.read(1, batch));
      while (subscriber.readOne(Row.allocate(16), Feed.PATIENCE) == Subscriber.EVENT_DUE) {
        subscriber.read(new Batch(1));
      }
      assertRefused(ErrorCode.INVALID_ARGUMENT,
          () -> subscriber.readOne(records.row(0), Lapwing.NOW));
      assertEquals(1, records.row(0).getLong(0));
    }
  }

  @Test
  void aBatchHasARowAndNoNegativeSize() {
    assertRefused(ErrorCode.INVALID_ARGUMENT, () -> new Batch(0));
    assertRefused(ErrorCode.INVALID_ARGUMENT, () -> Batch.ofBytes(1, -1));
  }

  @Test
  void twoThreadsDoNotReadIntoOneBatch() throws Exception {
    try (Publisher publisher = Feed.open(directory);
        Subscriber first = Subscriber.open(directory);
        Subscriber second = Subscriber.open(directory)) {
      Batch batch = new Batch(8);
      var waiting = CompletableFuture.supplyAsync(() -> {
        ErrorCode code;
        do { // until it runs between two of the calls below
          code = assertThrows(LapwingException.class, () -> readToRecords(first, batch)).code();
        } while (code == ErrorCode.MISUSE);
        return code;
      });
      ErrorCode overlapping = null;
      while (overlapping == null) { // until the other thread waits
        try {
          second.read(batch, Lapwing.NOW);
        } catch (LapwingException e) {
          overlapping = e.code();
        }
      }
      assertEquals(ErrorCode.MISUSE, overlapping);
      first.interrupt();
      assertEquals(ErrorCode.INTERRUPTED, waiting.get(20, TimeUnit.SECONDS));
      assertEquals(16, publisher.recordBytes());
    }
  }

  private static void readToRecords(Subscriber subscriber, Batch batch) {
    while (!(subscriber.read(batch) instanceof Records)) {}
  }

  @Test
  void aBatchKeepsItsRowsForBooksWhereTheNextReadNeedsMoreMemory() {
    Path others = directory.resolve("others");
    Path orders = directory.resolve("orders");
    Feed.closedBus(others, 1);
    Feed.closedBookBus(orders);
    Batch batch = new Batch(16);
    try (Subscriber subscriber = Feed.fromOldest(others)) {
      readToRecords(subscriber, batch); // so its memory is for rows of 16 bytes, not 56
    }
    try (Subscriber subscriber = Feed.fromOldest(orders); Books books = Books.create()) {
      for (Item item : subscriber.items(batch)) {
        books.take(batch);
        assertTrue(item != null);
      }
      assertEquals(4, books.inspect().orders());
    }
  }

  /** A log handler that throws. */
  private static final class Failing extends Handler {
    final AtomicBoolean wasCalled = new AtomicBoolean();

    @Override
    public void publish(LogRecord entry) {
      wasCalled.set(true);
      throw new IllegalStateException("this handler fails");
    }

    @Override
    public void flush() {}

    @Override
    public void close() {}
  }

  @Test
  void aLoggerThatFailsKeepsNothingThatIsCollected() throws InterruptedException {
    Logger logger = Logger.getLogger("lapwing");
    Failing handler = new Failing();
    logger.addHandler(handler);
    try {
      openAndForget();
      for (int i = 0; i < 1000 && !handler.wasCalled.get(); i++) {
        System.gc();
        TimeUnit.MILLISECONDS.sleep(10);
      }
      assertTrue(handler.wasCalled.get());
      Cursor.open(directory.resolve("cursor"), Lapwing.NOW).close(); // the lock is free
    } finally {
      logger.removeHandler(handler);
    }
  }

  private void openAndForget() {
    Cursor cursor = Cursor.open(directory.resolve("cursor"), Lapwing.NOW);
    assertRefused(ErrorCode.IN_USE,
        () -> Cursor.open(directory.resolve("cursor"), Lapwing.NOW));
    assertTrue(cursor.last().isEmpty());
  }

  @Test
  void anOptionThatCannotBeIsRefusedAndTheErrorSaysWhatItCanBe() {
    isInvalid("recordBytes is -1; it can be: 0 or more", () -> PublisherOptions.builder().recordBytes(-1));
    isInvalid("capacity is -1", () -> PublisherOptions.builder().capacity(-1));
    isInvalid("segmentBytes is -1", () -> PublisherOptions.builder().segmentBytes(-1));
    isInvalid("retainBytes is -1", () -> PublisherOptions.builder().retainBytes(-1));
    Duration negative = Duration.ofSeconds(-1);
    isInvalid("syncInterval is PT-1S; it can be: zero or more",
        () -> PublisherOptions.builder().syncInterval(negative));
    isInvalid("retainAge is PT-1S", () -> PublisherOptions.builder().retainAge(negative));
    isInvalid("conflate is PT-1S", () -> SubscriberOptions.builder().conflate(negative));
    isInvalid("conflateKeysMax is -1", () -> SubscriberOptions.builder().conflateKeysMax(-1));
    isInvalid("reattach is PT-1S", () -> SubscriberOptions.builder().reattach(negative));
    isInvalid("flushTimeout is PT-1S", () -> SubscriberOptions.builder().flushTimeout(negative));
    isInvalid("staleAfter is PT-1S", () -> SubscriberOptions.builder().staleAfter(negative));
    isInvalid("behindRecords is -1", () -> SubscriberOptions.builder().behindRecords(-1));
    isInvalid("behindTime is PT-1S", () -> SubscriberOptions.builder().behindTime(negative));
    isInvalid("measureEvery is -1", () -> SubscriberOptions.builder().measureEvery(-1));
    isInvalid("capacity is -1", () -> ChannelOptions.builder().capacity(-1));
    isInvalid("messageBytesMax is -1", () -> ChannelOptions.builder().messageBytesMax(-1));
    isInvalid("callWindow is -1", () -> ChannelOptions.builder().callWindow(-1));
    isInvalid("numaNode is -1", () -> ChannelOptions.builder().numaNode(-1));
    isInvalid("retry is PT-1S", () -> ChannelOptions.builder().retry(negative));
    try (Books books = Books.create()) {
      BookKey key = new BookKey(1, 1);
      isInvalid("from is -1", () -> books.levels(key, Side.BID, -1, 1));
      isInvalid("max is -1", () -> books.levels(key, Side.BID, 0, -1));
      isInvalid("level is -1", () -> books.orders(key, Side.BID, -1));
    }
  }

  @Test
  void anOptionOfNullHasItsDefaultAndZeroIsZero() {
    Path bus = directory.resolve("bus");
    PublisherOptions.Builder options = PublisherOptions.builder().recordBytes(16).capacity(4096)
        .syncInterval(null).retainAge(null).onJournalLag(null).onJournalFailure(null).metadata(null);
    Publisher.open(bus, options.build()).close();
    options.syncInterval(Lapwing.ON_REQUEST).retainAge(Lapwing.NEVER);
    Publisher.open(bus, options.build()).close();
    options.syncInterval(Duration.ZERO);
    assertRefused(ErrorCode.INVALID_ARGUMENT, () -> Publisher.open(bus, options.build()));
    Subscriber.open(bus, SubscriberOptions.builder().start(null).onGap(null).waitMode(null).conflate()
        .reattach(null).flushTimeout(null).staleAfter(null).behindTime(null).build()).close();
    Subscriber.open(bus, SubscriberOptions.builder().reattach(Lapwing.FOREVER)
        .flushTimeout(Lapwing.FOREVER).staleAfter(Lapwing.NEVER).behindTime(Lapwing.NEVER)
        .build()).close();
    assertRefused(ErrorCode.INVALID_ARGUMENT,
        () -> Subscriber.open(bus, SubscriberOptions.builder().staleAfter(Duration.ZERO).build()));
    assertRefused(ErrorCode.INVALID_ARGUMENT,
        () -> Subscriber.open(bus, SubscriberOptions.builder().behindTime(Duration.ZERO).build()));
    Listener.open(directory.resolve("s"),
        ChannelOptions.builder().waitMode(null).retry(null).build()).close();
  }

  private static void isInvalid(String words, Executable call) {
    LapwingException refused = assertThrows(LapwingException.class, call);
    assertEquals(ErrorCode.INVALID_ARGUMENT, refused.code());
    assertTrue(refused.getMessage().startsWith(words), refused.getMessage());
  }

  @Test
  void optionsStayAsTheyWereBuilt() {
    PublisherOptions.Builder builder = PublisherOptions.builder().recordBytes(16).capacity(4096);
    PublisherOptions options = builder.build();
    builder.recordBytes(24);
    try (Publisher publisher = Publisher.open(directory.resolve("bus"), options)) {
      assertEquals(16, publisher.recordBytes());
    }
  }
}
