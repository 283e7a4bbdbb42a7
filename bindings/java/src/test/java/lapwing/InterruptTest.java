package lapwing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Thread.interrupt() ends every wait with INTERRUPTED, and the thread stays interrupted. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD) // limits a wait that does not end
class InterruptTest {
  private static final ChannelOptions DEFAULTS = ChannelOptions.DEFAULTS;

  @TempDir Path directory;

  /** How a wait ended. */
  private record End(LapwingException thrown, boolean isStillInterrupted) {}

  /** A wait in a separate thread. */
  private static final class Waiting {
    final CompletableFuture<End> end = new CompletableFuture<>();
    final Thread thread;

    Waiting(Thread.Builder builder, Runnable wait) {
      thread = builder.start(() -> {
        try {
          wait.run();
          end.complete(new End(null, Thread.interrupted()));
        } catch (LapwingException e) {
          end.complete(new End(e, Thread.interrupted()));
        } catch (Throwable e) {
          end.completeExceptionally(e);
        }
      });
    }

    void isInterrupted() throws Exception {
      End ended = end.get(60, TimeUnit.SECONDS);
      assertNotNull(ended.thrown, "the wait came to something");
      assertEquals(ErrorCode.INTERRUPTED, ended.thrown.code());
      assertTrue(ended.isStillInterrupted);
    }
  }

  private static void endsByInterrupt(Runnable wait) throws Exception {
    Waiting begun = new Waiting(Thread.ofPlatform(), wait);
    begun.thread.join(Duration.ofMillis(100)); // by then it almost certainly waits
    assertFalse(begun.end.isDone());
    begun.thread.interrupt();
    begun.isInterrupted();

    // In a thread that is already interrupted, the wait does not begin.
    new Waiting(Thread.ofPlatform(), () -> {
      Thread.currentThread().interrupt();
      wait.run();
    }).isInterrupted();
  }

  @Test
  void waitsOfASubscriberEnd() throws Exception {
    try (Publisher publisher = Feed.open(directory);
        Subscriber subscriber = Subscriber.open(directory)) {
      Batch batch = new Batch(8);
      while (subscriber.read(batch, Duration.ofMillis(300)) != null) {}
      endsByInterrupt(() -> subscriber.read(batch));
      endsByInterrupt(() -> subscriber.readOne(Row.allocate(16), Feed.PATIENCE));
      endsByInterrupt(() -> subscriber.items(batch).iterator().hasNext());
      Feed.publish(publisher, 1, 1);
      assertEquals(1, ((Records) subscriber.read(batch, Feed.PATIENCE)).first()); // the subscriber is unchanged
    }
  }

  @Test
  void aReadThatDoesNotWaitGoesOn() throws Exception {
    Feed.closedBus(directory, 3);
    try (Subscriber subscriber = Feed.fromOldest(directory)) {
      Batch batch = new Batch(8);
      assertNotNull(subscriber.read(batch, Feed.PATIENCE));
      Thread.currentThread().interrupt();
      try {
        assertNotNull(subscriber.read(batch, Lapwing.NOW));
      } finally {
        assertTrue(Thread.interrupted());
      }
    }
  }

  @Test
  void waitsOfListenersAndChannelsEnd() throws Exception {
    Path path = directory.resolve("s");
    try (Listener listener = Listener.open(path)) {
      endsByInterrupt(() -> listener.acceptProducer(DEFAULTS, Lapwing.FOREVER));
      var connecting =
          CompletableFuture.supplyAsync(() -> Consumer.connect(path, DEFAULTS, Feed.PATIENCE));
      try (Producer producer = listener.acceptProducer(DEFAULTS, Feed.PATIENCE);
          Consumer consumer = connecting.join()) {
        endsByInterrupt(() -> consumer.receive(Lapwing.FOREVER));
        endsByInterrupt(() -> consumer.peek(4, Lapwing.FOREVER));
        int sent = 0;
        while (producer.claim(60_000, Lapwing.NOW) != null) {
          producer.commit(60_000, 1);
          sent++;
        }
        endsByInterrupt(() -> producer.claim(60_000, Lapwing.FOREVER));
        endsByInterrupt(() -> producer.drain(Lapwing.FOREVER));
        endsByInterrupt(() -> producer.send(1, new byte[60_000], Lapwing.FOREVER));
        endsByInterrupt(
            () -> producer.send(List.of(Message.of(1, new byte[60_000])), Lapwing.FOREVER));
        for (int i = 0; i < sent; i++) {
          assertNotNull(consumer.receive(Feed.PATIENCE)); // all messages arrived
        }
        assertEquals(null, consumer.receive(Lapwing.NOW));
      }
    }
  }

  @Test
  void aSendOfManyHasItsProgress() throws Exception {
    Path path = directory.resolve("s");
    try (Listener listener = Listener.open(path)) {
      var connecting =
          CompletableFuture.supplyAsync(() -> Consumer.connect(path, DEFAULTS, Feed.PATIENCE));
      try (Producer producer = listener.acceptProducer(DEFAULTS, Feed.PATIENCE);
          Consumer consumer = connecting.join()) {
        List<Message> many = new ArrayList<>();
        for (int i = 0; i < 64; i++) {
          many.add(Message.of(i, new byte[60_000])); // about 16 of them fit
        }
        Waiting waiting = new Waiting(Thread.ofPlatform(), () -> producer.send(many, Lapwing.FOREVER));
        for (int i = 0; i < 32; i++) {
          assertEquals(i, consumer.receive(Feed.PATIENCE).type());
        }
        waiting.thread.join(Duration.ofMillis(200));
        waiting.thread.interrupt();
        long progress = waiting.end.get(60, TimeUnit.SECONDS).thrown.progress();
        assertTrue(progress > 32 && progress < 64, progress + " were sent");
        for (int i = 32; i < progress; i++) {
          assertEquals(i, consumer.receive(Feed.PATIENCE).type());
        }
        assertEquals(null, consumer.receive(Lapwing.NOW));
      }
    }
  }

  @Test
  void waitsOfADuplexEndAndTheCallGoesOn() throws Exception {
    Path path = directory.resolve("s");
    try (Listener listener = Listener.open(path)) {
      var connecting =
          CompletableFuture.supplyAsync(() -> Duplex.connect(path, DEFAULTS, Feed.PATIENCE));
      try (Duplex server = listener.acceptDuplex(DEFAULTS, Feed.PATIENCE);
          Duplex client = connecting.join()) {
        endsByInterrupt(() -> server.next(Lapwing.FOREVER));
        long call =
            client.start(1, MemorySegment.ofArray(new byte[] {7}), Duration.ofMinutes(5));
        endsByInterrupt(() -> client.finish(call));
        endsByInterrupt(() -> client.finishAny(Lapwing.FOREVER));
        Request request = server.next(Feed.PATIENCE);
        server.reply(request, 2, new byte[] {8}, Feed.PATIENCE);
        assertEquals(2, client.finish(call).type());
      }
    }
  }

  @Test
  void aWaitToConnectEnds() throws Exception {
    Path path = directory.resolve("s");
    try (Listener listener = Listener.open(path)) { // never calls accept
      endsByInterrupt(() -> Consumer.connect(path, DEFAULTS, Duration.ofSeconds(5)));
      endsByInterrupt(() -> Listener.takeOver(path, DEFAULTS, Duration.ofSeconds(5)));
      assertTrue(listener.fd() >= 0);
    }
  }

  @Test
  void aWaitForABusOrACursorThatIsInUseEnds() throws Exception {
    Path cursor = directory.resolve("cursor");
    try (Publisher publisher = Feed.open(directory.resolve("bus"));
        Cursor first = Cursor.open(cursor, Lapwing.NOW)) {
      endsByInterrupt(() -> Feed.open(directory.resolve("bus")).close());
      endsByInterrupt(() -> Cursor.open(cursor, Lapwing.FOREVER).close());
      assertEquals(16, publisher.recordBytes());
      assertTrue(first.last().isEmpty());
    }
  }

  @Test
  void aCursorIsWaitedForUntilItIsFree() throws Exception {
    Path path = directory.resolve("cursor");
    Cursor first = Cursor.open(path, Lapwing.NOW);
    var next = CompletableFuture.supplyAsync(() -> Cursor.open(path, Feed.PATIENCE));
    assertThrows(java.util.concurrent.TimeoutException.class,
        () -> next.get(300, TimeUnit.MILLISECONDS));
    first.close();
    next.get(60, TimeUnit.SECONDS).close();
  }

  @Test
  void aPublisherClosesInAThreadThatIsInterrupted() {
    Publisher publisher = Feed.open(directory);
    Feed.publish(publisher, 1, 3);
    Thread.currentThread().interrupt();
    try {
      publisher.close();
    } finally {
      assertTrue(Thread.interrupted());
    }
    try (History history = History.open(directory)) {
      assertEquals(3, history.inspect().durable());
    }
  }

  @Test
  void virtualThreadsThatWaitLeaveOthersTheirTurn() throws Exception {
    int count = Runtime.getRuntime().availableProcessors() + 1; // more than the number of carriers
    List<Waiting> all = new ArrayList<>();
    List<Subscriber> subscribers = new ArrayList<>();
    try (Publisher publisher = Feed.open(directory)) {
      CountDownLatch begun = new CountDownLatch(count);
      for (int i = 0; i < count; i++) {
        Subscriber subscriber = Subscriber.open(directory);
        subscribers.add(subscriber);
        all.add(new Waiting(Thread.ofVirtual(), () -> {
          begun.countDown();
          for (;;) {
            subscriber.read(new Batch(8)); // events, and then it waits
          }
        }));
      }
      assertTrue(begun.await(60, TimeUnit.SECONDS));
      Thread interrupter = Thread.ofVirtual().start(
          () -> all.forEach(waiting -> waiting.thread.interrupt()));
      assertTrue(interrupter.join(Duration.ofSeconds(60)));
      for (Waiting waiting : all) {
        waiting.isInterrupted();
      }
      assertEquals(0, publisher.inspect().head());
    } finally {
      subscribers.forEach(Subscriber::close);
    }
  }
}
