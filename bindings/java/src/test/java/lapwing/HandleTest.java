package lapwing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class HandleTest {
  @TempDir Path directory;

  /** A handle without an object, which counts its calls. */
  static final class Counted extends Handle {
    private static final AtomicInteger destroyed = new AtomicInteger();
    private static final AtomicInteger interrupted = new AtomicInteger();

    Counted() {
      super("test", MemorySegment.ofAddress(1), pointer -> interrupted.incrementAndGet(),
          where -> destroyed.incrementAndGet());
    }

    static void reset() {
      destroyed.set(0);
      interrupted.set(0);
    }
  }

  /** Makes a call with that result. Its thread is interrupted meanwhile. */
  private static int interruptedDuring(Handle handle, int result) {
    try {
      Thread caller = Thread.currentThread();
      return handle.interruptibly(() -> {
        Thread interrupter = Thread.ofPlatform().start(caller::interrupt);
        while (interrupter.isAlive()) {
          Thread.onSpinWait();
        }
        return result;
      });
    } finally {
      assertTrue(Thread.interrupted());
    }
  }

  @Test
  void anInterruptThatComesTooLateForItsWaitDoesNotEndTheNextOne() {
    Counted.reset();
    Counted handle = new Counted();
    assertEquals(C.OK, interruptedDuring(handle, C.OK));
    assertEquals(1, Counted.interrupted.get()); // which stays pending, as in C
    int[] calls = {0};
    assertEquals(C.OK, handle.interruptibly(() -> ++calls[0] == 1 ? C.ERROR_INTERRUPTED : C.OK));
    assertEquals(2, calls[0]);
    assertEquals(C.ERROR_INTERRUPTED, handle.interruptibly(() -> C.ERROR_INTERRUPTED));

    assertEquals(C.OK, interruptedDuring(handle, C.OK));
    handle.interruptWait(); // by the program: it and the stray one end one wait
    assertEquals(C.ERROR_INTERRUPTED, handle.interruptibly(() -> C.ERROR_INTERRUPTED));
    assertEquals(C.ERROR_INTERRUPTED, interruptedDuring(handle, C.ERROR_INTERRUPTED));
    handle.close();
  }

  @Test
  void aCloseWithinACallInterruptsItAndTheCallsEndDestroysOnce() {
    Counted.reset();
    Counted handle = new Counted();
    handle.enter();
    handle.close();
    assertEquals(1, Counted.interrupted.get());
    assertEquals(0, Counted.destroyed.get());
    assertEquals(ErrorCode.MISUSE,
        assertThrows(LapwingException.class, handle::enter).code());
    handle.exit();
    assertEquals(1, Counted.destroyed.get());
    handle.close();
    handle.interruptWait();
    assertEquals(1, Counted.destroyed.get());
    assertEquals(1, Counted.interrupted.get());
  }

  @Test
  void whatIsLentKeepsAHandleUntilItIsGivenBack() {
    Counted.reset();
    Counted handle = new Counted();
    Lease lease = new Lease(handle);
    lease.lend(MemorySegment.ofAddress(64), 8);
    handle.enter();
    handle.exit();
    handle.close();
    assertEquals(0, Counted.destroyed.get());
    lease.end();
    assertEquals(1, Counted.destroyed.get());
  }

  @Test
  void aLeaseOfAThreadThatHasEndedIsOver() throws InterruptedException {
    Counted.reset();
    Counted handle = new Counted();
    Lease lease = new Lease(handle);
    Thread thread = Thread.ofPlatform().start(() -> lease.lend(MemorySegment.ofAddress(64), 8));
    thread.join();
    lease.end();
    handle.close();
    assertEquals(1, Counted.destroyed.get());
  }

  @Test
  void aHandleThatIsNotClosedIsFreedWhenItIsCollected() throws InterruptedException {
    Counted.reset();
    makeAndForget();
    for (int i = 0; i < 1000 && Counted.destroyed.get() == 0; i++) {
      System.gc();
      TimeUnit.MILLISECONDS.sleep(10);
    }
    assertEquals(1, Counted.destroyed.get());
  }

  private static void makeAndForget() {
    assertTrue(!new Counted().isClosed());
  }

  @Test
  void aCloseEndsTheWaitOfAnotherThreadAndItsIteration() throws Exception {
    try (Publisher publisher = Feed.open(directory)) {
      Subscriber subscriber = Subscriber.open(directory);
      CountDownLatch caughtUp = new CountDownLatch(1);
      CompletableFuture<Integer> seen = CompletableFuture.supplyAsync(() -> {
        int count = 0;
        for (Item item : subscriber.items(new Batch(8))) {
          count++;
          if (item instanceof Event event && event.kind() == Event.Kind.CAUGHT_UP) {
            caughtUp.countDown();
          }
        }
        return count;
      });
      assertTrue(caughtUp.await(20, TimeUnit.SECONDS));
      subscriber.close();
      assertTrue(seen.get(20, TimeUnit.SECONDS) >= 2);
      assertEquals(0, publisher.inspect().head());
    }
  }

  @Test
  void aCallThatOverlapsAWaitIsAMisuseAndAnInterruptEndsTheWaitOnce() throws Exception {
    try (Publisher publisher = Feed.open(directory);
        Subscriber subscriber = Subscriber.open(directory)) {
      Batch batch = new Batch(8);
      while (!(subscriber.read(batch, Feed.PATIENCE) instanceof Event event
          && event.kind() == Event.Kind.CAUGHT_UP)) {}
      var waiting = CompletableFuture.supplyAsync(() -> {
        ErrorCode code;
        do { // until it runs between two of the calls below
          code = assertThrows(LapwingException.class, () -> subscriber.read(batch)).code();
        } while (code == ErrorCode.MISUSE);
        return code;
      });
      ErrorCode overlapping = null;
      while (overlapping == null) { // until the other thread waits
        try {
          subscriber.inspect();
        } catch (LapwingException e) {
          overlapping = e.code();
        }
      }
      assertEquals(ErrorCode.MISUSE, overlapping);
      subscriber.interrupt();
      assertEquals(ErrorCode.INTERRUPTED, waiting.get(20, TimeUnit.SECONDS));
      assertEquals(null, subscriber.read(batch, Lapwing.NOW));
      assertEquals(16, publisher.recordBytes());
    }
  }
}
