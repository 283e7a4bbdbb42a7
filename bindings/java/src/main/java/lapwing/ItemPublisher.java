package lapwing;

import java.util.concurrent.Flow;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The items of a subscriber as a reactive stream.
 *
 * <p>Invariants: signals come only from the thread of the stream. It reads only if items are
 * requested. `demand`, `isCancelled` and `isReading` are guarded by the monitor.
 */
final class ItemPublisher implements Flow.Publisher<Item> {
  private final Subscriber source;
  private final int rowsMax;
  private final AtomicBoolean isTaken = new AtomicBoolean();

  ItemPublisher(Subscriber source, int rowsMax) {
    this.source = source;
    this.rowsMax = rowsMax;
  }

  @Override
  public void subscribe(Flow.Subscriber<? super Item> target) {
    java.util.Objects.requireNonNull(target);
    if (!isTaken.compareAndSet(false, true)) {
      target.onSubscribe(new Flow.Subscription() {
        @Override
        public void request(long n) {}

        @Override
        public void cancel() {}
      });
      target.onError(new IllegalStateException(
          "the items of a Lapwing subscriber go to one Flow.Subscriber; open another subscriber"));
      return;
    }
    Thread.ofPlatform().daemon().name("lapwing-items").start(new Stream(target));
  }

  private final class Stream implements Flow.Subscription, Runnable {
    private final Flow.Subscriber<? super Item> target;
    private long demand;
    private boolean isCancelled;
    private boolean isReading;
    private Throwable refused; // a request that violates the rules of Flow

    Stream(Flow.Subscriber<? super Item> target) {
      this.target = target;
    }

    @Override
    public synchronized void request(long n) {
      if (n <= 0) {
        refused = new IllegalArgumentException("request(" + n + "): at least 1");
        stopReading();
      } else {
        demand = Math.addExact(Math.min(demand, Long.MAX_VALUE - n), n);
      }
      notifyAll();
    }

    @Override
    public synchronized void cancel() {
      isCancelled = true;
      stopReading();
      notifyAll();
    }

    private void stopReading() {
      if (isReading) {
        source.interrupt();
      }
    }

    @Override
    public void run() {
      try {
        target.onSubscribe(this);
        Batch batch = new Batch(rowsMax);
        while (isWanted()) {
          Item item = read(batch);
          if (item != null) {
            target.onNext(item instanceof Rows rows ? rows.copy() : item);
          }
        }
        end(null);
      } catch (LapwingException e) {
        end(e);
      }
    }

    /** Waits for a request. Returns false if the stream has ended. */
    private synchronized boolean isWanted() {
      while (demand == 0 && !isCancelled && refused == null) {
        try {
          wait();
        } catch (InterruptedException e) {
          isCancelled = true; // the thread belongs to this stream
        }
      }
      if (isCancelled || refused != null) {
        return false;
      }
      demand--;
      isReading = true;
      return true;
    }

    /** Reads an item; null: the wait was interrupted to end the stream. */
    private Item read(Batch batch) {
      try {
        return source.read(batch, Lapwing.FOREVER);
      } catch (LapwingException e) {
        if (e.code() == ErrorCode.INTERRUPTED && isOver()) {
          return null;
        }
        throw e;
      } finally {
        synchronized (this) {
          isReading = false;
        }
      }
    }

    private synchronized boolean isOver() {
      return isCancelled || refused != null;
    }

    private void end(LapwingException thrown) {
      boolean wasCancelled;
      Throwable failure;
      synchronized (this) {
        wasCancelled = isCancelled;
        failure = refused != null ? refused : thrown;
        isCancelled = true;
      }
      if (wasCancelled) {
        return;
      }
      if (failure == null || thrown == failure && thrown.code() == ErrorCode.CLOSED) {
        target.onComplete();
      } else {
        target.onError(failure);
      }
    }
  }
}
