package lapwing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD) // limits a wait that does not end
class WaitSetTest {
  private static final ChannelOptions DEFAULTS = ChannelOptions.DEFAULTS;

  @TempDir Path directory;

  private static void isRefused(ErrorCode code, Executable call) {
    assertEquals(code, assertThrows(LapwingException.class, call).code());
  }

  /** Two buses, and a subscriber of each that has read everything. */
  private record Buses(Publisher first, Publisher second, Subscriber ofFirst, Subscriber ofSecond)
      implements AutoCloseable {
    static Buses open(Path directory) {
      return new Buses(Feed.open(directory.resolve("a")), Feed.open(directory.resolve("b")),
          caughtUp(directory.resolve("a")), caughtUp(directory.resolve("b")));
    }

    private static Subscriber caughtUp(Path directory) {
      Subscriber subscriber = Subscriber.open(directory);
      Batch batch = new Batch(8);
      while (!(subscriber.read(batch, Feed.PATIENCE) instanceof Event event
          && event.kind() == Event.Kind.CAUGHT_UP)) {}
      return subscriber;
    }

    @Override
    public void close() {
      ofFirst.close();
      ofSecond.close();
      first.close();
      second.close();
    }
  }

  @Test
  void theBusThatHasSomethingIsReadyUntilItIsRead() {
    try (Buses buses = Buses.open(directory); WaitSet<Subscriber> set = WaitSet.open()) {
      set.add(buses.ofFirst, buses.ofFirst);
      WaitSet.Source<Subscriber> second = set.add(buses.ofSecond, buses.ofSecond);
      isRefused(ErrorCode.MISUSE, () -> set.add(buses.ofSecond, buses.ofSecond));
      assertNull(set.await(Lapwing.NOW));
      assertNull(set.await(Duration.ofMillis(60))); // longer than a slice
      Feed.publish(buses.second, 1, 2);
      Row row = Row.allocate(16);
      for (int n = 1; n <= 2; n++) {
        assertSame(second, set.await(Feed.PATIENCE));
        assertSame(buses.ofSecond, second.token());
        assertEquals(WaitSet.Kind.SUBSCRIBER, second.kind());
        assertEquals(n, second.token().readOne(row, Lapwing.NOW));
      }
      assertNull(set.await(Lapwing.NOW));
      Feed.publish(buses.first, 1, 1);
      assertSame(buses.ofFirst, set.await(Feed.PATIENCE).token());
      assertTrue(set.remove(second));
      assertFalse(set.remove(second));
      set.add(buses.ofSecond, null); // it can be added again
      assertNull(second.token().read(new Batch(1), Lapwing.NOW));
    }
  }

  @Test
  void aTimerIsReadyOnceOrEveryInterval() {
    try (WaitSet<String> set = WaitSet.open()) {
      WaitSet.Source<String> timer = set.addTimer(Lapwing.NEVER, Duration.ZERO, "timer");
      assertNull(set.await(Duration.ofMillis(30)));
      set.setTimer(timer, Duration.ofMillis(1), Duration.ZERO);
      assertEquals("timer", set.await(Feed.PATIENCE).token());
      assertEquals(WaitSet.Kind.TIMER, timer.kind());
      assertEquals(1, timer.expirations());
      assertNull(set.await(Lapwing.NOW));
      set.setTimer(timer, Lapwing.NOW, Duration.ofMillis(1));
      for (int i = 0; i < 3; i++) {
        assertSame(timer, set.await(Feed.PATIENCE));
      }
      assertTrue(set.remove(timer));
      isRefused(ErrorCode.NOT_FOUND, () -> set.setTimer(timer, Lapwing.NOW, Duration.ZERO));
      try (WaitSet<String> other = WaitSet.open()) {
        var there = other.addTimer(Lapwing.NOW, Duration.ZERO, "there");
        set.addTimer(Lapwing.NEVER, Duration.ZERO, "here");
        assertFalse(set.remove(there)); // its id in the other set also exists here
        assertSame(there, other.await(Feed.PATIENCE));
      }
    }
  }

  @Test
  void channelsListenersAndDescriptorsAreSources() {
    Path path = directory.resolve("s");
    try (Listener listener = Listener.open(path); WaitSet<String> set = WaitSet.open()) {
      WaitSet.Source<String> listening = set.add(listener, "listener");
      var connecting =
          CompletableFuture.supplyAsync(() -> Consumer.connect(path, DEFAULTS, Feed.PATIENCE));
      assertEquals("listener", set.await(Feed.PATIENCE).token());
      assertEquals(WaitSet.Kind.LISTENER, listening.kind());
      try (Producer producer = listener.acceptProducer(DEFAULTS, Feed.PATIENCE);
          Consumer consumer = connecting.join()) {
        assertTrue(set.remove(listening));
        isRefused(ErrorCode.INVALID_ARGUMENT, () -> set.add(producer, 99_999_999, "no room"));
        var sending = set.add(producer, 64, "producer");
        assertSame(sending, set.await(Feed.PATIENCE));
        var room = producer.claim(64, Lapwing.NOW);
        assertSame(sending, set.await(Feed.PATIENCE));
        assertThrows(IllegalStateException.class, // the wait abandoned the claim
            () -> room.set(java.lang.foreign.ValueLayout.JAVA_BYTE, 0, (byte) 1));
        assertTrue(set.remove(sending));
        producer.send(5, new byte[] {1}, Feed.PATIENCE);
        set.add(consumer, "consumer");
        assertEquals("consumer", set.await(Feed.PATIENCE).token());
        assertEquals(5, consumer.receive(Lapwing.NOW).type());
        assertNull(set.await(Lapwing.NOW));
      }
      assertNull(set.await(Lapwing.NOW)); // the consumer is no longer in the set
      var descriptor = set.addFd(listener.fd(), WaitSet.POLLIN, "descriptor");
      assertNull(set.await(Lapwing.NOW));
      var late = CompletableFuture.supplyAsync(() -> Consumer.connect(path, DEFAULTS, Feed.PATIENCE));
      assertSame(descriptor, set.await(Feed.PATIENCE));
      assertEquals(WaitSet.POLLIN, descriptor.events());
      listener.acceptProducer(DEFAULTS, Feed.PATIENCE).close();
      late.join().close();
      assertTrue(set.remove(descriptor));
    }
  }

  private static CompletableFuture<WaitSet.Source<String>> waiting(WaitSet<String> set) {
    return untilNotMisused(() -> set.await(Lapwing.FOREVER));
  }

  /** Runs the call on another thread, and repeats it if it overlaps a call on the test's thread. */
  private static <T> CompletableFuture<T> untilNotMisused(Supplier<T> call) {
    return CompletableFuture.supplyAsync(() -> {
      for (;;) {
        try {
          return call.get();
        } catch (LapwingException e) {
          if (e.code() != ErrorCode.MISUSE) {
            throw e;
          }
        }
      }
    });
  }

  private static LapwingException thrownBy(CompletableFuture<?> waiting) {
    return assertInstanceOf(LapwingException.class,
        assertThrows(ExecutionException.class, () -> waiting.get(60, TimeUnit.SECONDS)).getCause());
  }

  /** Returns once the set waits. */
  private static void untilItWaits(WaitSet<String> set) throws InterruptedException {
    WaitSet.Source<String> none = new WaitSet.Source<>(WaitSet.Kind.TIMER, null, "none");
    while (assertThrows(LapwingException.class, () -> set.setTimer(none, Lapwing.NOW, Duration.ZERO))
        .code() == ErrorCode.NOT_FOUND) {
      TimeUnit.MILLISECONDS.sleep(1);
    }
  }

  @Test
  void aSourceThatIsClosedDuringAWaitLeavesTheSet() throws Exception {
    try (Buses buses = Buses.open(directory); WaitSet<String> set = WaitSet.open()) {
      set.add(buses.ofFirst, "first");
      set.add(buses.ofSecond, "second");
      var waiting = waiting(set);
      untilItWaits(set);
      buses.ofSecond.close();
      Feed.publish(buses.second, 1, 1);
      assertThrows(java.util.concurrent.TimeoutException.class,
          () -> waiting.get(200, TimeUnit.MILLISECONDS));
      Feed.publish(buses.first, 1, 1);
      assertEquals("first", waiting.get(60, TimeUnit.SECONDS).token());
    }
  }

  @Test
  void aSourceIsNotUsedDuringAWaitNorTheSetDuringACallOfASource() throws Exception {
    try (Buses buses = Buses.open(directory); WaitSet<String> set = WaitSet.open()) {
      set.add(buses.ofFirst, "first");
      var waiting = waiting(set);
      untilItWaits(set);
      boolean isRefused = false;
      while (!isRefused && !waiting.isDone()) { // refused except between two slices
        try {
          buses.ofFirst.inspect();
        } catch (LapwingException e) {
          assertEquals(ErrorCode.MISUSE, e.code());
          assertTrue(e.getMessage().contains("wait set"), e.getMessage());
          isRefused = true;
        }
      }
      assertTrue(isRefused);
      set.interrupt();
      assertTrue(waiting.handle((ready, thrown) -> thrown != null).get(60, TimeUnit.SECONDS));

      var reading = untilNotMisused(() -> buses.ofFirst.read(new Batch(8)));
      ErrorCode code = null;
      while (code != ErrorCode.MISUSE) { // until the reader waits
        try {
          assertNull(set.await(Lapwing.NOW));
        } catch (LapwingException e) {
          code = e.code();
        }
      }
      buses.ofFirst.interrupt();
      assertNotNull(thrownBy(reading));
    }
  }

  @Test
  void anInterruptEndsOneWait() throws Exception {
    try (WaitSet<String> set = WaitSet.open()) {
      set.interrupt();
      isRefused(ErrorCode.INTERRUPTED, () -> set.await(Lapwing.FOREVER));
      assertNull(set.await(Duration.ofMillis(1)));
      Thread waiter = Thread.currentThread();
      CompletableFuture.delayedExecutor(100, TimeUnit.MILLISECONDS).execute(waiter::interrupt);
      isRefused(ErrorCode.INTERRUPTED, () -> set.await(Lapwing.FOREVER));
      assertTrue(Thread.interrupted());
    }
  }

  @Test
  void aSetThatIsClosedDuringAWaitEndsIt() throws Exception {
    try (Buses buses = Buses.open(directory)) {
      WaitSet<String> set = WaitSet.open();
      set.add(buses.ofFirst, "first");
      var waiting = waiting(set);
      untilItWaits(set);
      set.close();
      assertEquals(ErrorCode.INTERRUPTED, thrownBy(waiting).code());
      isRefused(ErrorCode.MISUSE, () -> set.await(Lapwing.NOW));
      try (WaitSet<String> next = WaitSet.open()) { // the sources are no longer in a set
        next.add(buses.ofFirst, "again");
        Feed.publish(buses.first, 1, 1);
        assertEquals("again", next.await(Feed.PATIENCE).token());
      }
    }
  }

  @Test
  void aConsumerThatIsClosedAndStillLentLeavesTheSet() throws Exception {
    Path path = directory.resolve("s");
    try (Listener listener = Listener.open(path); WaitSet<String> set = WaitSet.open()) {
      var connecting =
          CompletableFuture.supplyAsync(() -> Consumer.connect(path, DEFAULTS, Feed.PATIENCE));
      try (Producer producer = listener.acceptProducer(DEFAULTS, Feed.PATIENCE);
          Consumer consumer = connecting.join()) {
        producer.send(1, new byte[] {1}, Feed.PATIENCE);
        producer.send(2, new byte[] {2}, Feed.PATIENCE);
        set.add(consumer, "consumer");
        consumer.peek(1, Feed.PATIENCE).payload(0); // borrowed by this thread
        CompletableFuture.runAsync(consumer::close).get(60, TimeUnit.SECONDS);
        assertNull(set.await(Lapwing.NOW));
        isRefused(ErrorCode.MISUSE, () -> consumer.release(1)); // gives the memory back
      }
    }
  }
}
