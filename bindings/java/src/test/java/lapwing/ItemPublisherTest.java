package lapwing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Flow;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ItemPublisherTest {
  @TempDir Path directory;

  /** Stores the items that it receives. */
  private static final class Keeper implements Flow.Subscriber<Item> {
    final BlockingQueue<Item> items = new LinkedBlockingQueue<>();
    final CountDownLatch subscribed = new CountDownLatch(1);
    final CountDownLatch ended = new CountDownLatch(1);
    volatile Flow.Subscription subscription;
    volatile Throwable failure;

    @Override
    public void onSubscribe(Flow.Subscription subscription) {
      this.subscription = subscription;
      subscribed.countDown();
    }

    @Override
    public void onNext(Item item) {
      items.add(item);
    }

    @Override
    public void onError(Throwable failure) {
      this.failure = failure;
      ended.countDown();
    }

    @Override
    public void onComplete() {
      ended.countDown();
    }

    Item next() throws InterruptedException {
      return items.poll(20, TimeUnit.SECONDS);
    }

    boolean hasEnded() throws InterruptedException {
      return ended.await(20, TimeUnit.SECONDS);
    }
  }

  private static Keeper subscribedTo(Flow.Publisher<Item> publisher) throws InterruptedException {
    Keeper keeper = new Keeper();
    publisher.subscribe(keeper);
    assertTrue(keeper.subscribed.await(20, TimeUnit.SECONDS));
    return keeper;
  }

  @Test
  void whatIsRequestedComesAndStaysAndTheCloseCompletes() throws InterruptedException {
    Feed.closedBus(directory, 4);
    try (Subscriber subscriber = Feed.fromOldest(directory)) {
      Keeper keeper = subscribedTo(subscriber.publisher(2));
      keeper.subscription.request(2);
      assertInstanceOf(Event.class, keeper.next());
      Records first = assertInstanceOf(Records.class, keeper.next());
      assertNull(keeper.items.poll(50, TimeUnit.MILLISECONDS)); // no more than requested
      keeper.subscription.request(Long.MAX_VALUE);
      assertTrue(keeper.hasEnded());
      assertNull(keeper.failure);
      List<Long> numbers = new ArrayList<>();
      first.forEach(row -> numbers.add(row.getLong(0)));
      for (Item item : keeper.items) {
        if (item instanceof Records records) {
          records.forEach(row -> numbers.add(row.getLong(0)));
        }
      }
      assertEquals(List.of(1L, 2L, 3L, 4L), numbers);
    }
  }

  @Test
  void aCancelEndsTheWait() throws InterruptedException {
    try (Publisher publisher = Feed.open(directory);
        Subscriber subscriber = Subscriber.open(directory)) {
      Keeper keeper = subscribedTo(subscriber.publisher(8));
      keeper.subscription.request(Long.MAX_VALUE);
      while (!(keeper.next() instanceof Event event && event.kind() == Event.Kind.CAUGHT_UP)) {}
      TimeUnit.MILLISECONDS.sleep(200); // by then its thread almost certainly waits
      keeper.subscription.cancel();
      int attempts = 0;
      while (attempts >= 0 && attempts < 2000) { // until its thread has left the wait
        try {
          subscriber.inspect();
          attempts = -1;
        } catch (LapwingException e) {
          assertEquals(ErrorCode.MISUSE, e.code());
          TimeUnit.MILLISECONDS.sleep(10);
          attempts++;
        }
      }
      assertEquals(-1, attempts);
      assertEquals(1, keeper.ended.getCount()); // no signal after a cancel
      assertEquals(0, publisher.inspect().head());
    }
  }

  @Test
  void anEndThatIsNoCloseIsAnErrorAndSoIsARequestOfNothing() throws InterruptedException {
    try (Subscriber subscriber = Subscriber.open(directory.resolve("nowhere"),
        SubscriberOptions.builder().reattach(java.time.Duration.ofMillis(10)).build())) {
      Keeper keeper = subscribedTo(subscriber.publisher(8));
      keeper.subscription.request(1);
      assertTrue(keeper.hasEnded());
      assertEquals(ErrorCode.NO_BUS,
          assertInstanceOf(LapwingException.class, keeper.failure).code());
    }
    Feed.closedBus(directory, 1);
    try (Subscriber subscriber = Feed.fromOldest(directory)) {
      Flow.Publisher<Item> publisher = subscriber.publisher(8);
      Keeper keeper = subscribedTo(publisher);
      Keeper second = subscribedTo(publisher);
      assertTrue(second.hasEnded());
      assertInstanceOf(IllegalStateException.class, second.failure);
      keeper.subscription.request(0);
      assertTrue(keeper.hasEnded());
      assertInstanceOf(IllegalArgumentException.class, keeper.failure);
    }
  }
}
