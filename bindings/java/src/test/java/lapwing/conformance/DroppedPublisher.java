package lapwing.conformance;

import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import lapwing.Publisher;

/**
 * A publisher that is forgotten and garbage-collected. The package frees it before it logs a
 * warning, so the warning shows that it was freed.
 */
final class DroppedPublisher {
  private static final Logger LOG = Logger.getLogger("lapwing");
  private static final int COLLECTIONS_MAX = 500;

  private Publisher publisher;

  void keep(Publisher publisher) {
    this.publisher = publisher;
  }

  List<String> drop() {
    if (publisher == null) {
      throw new Step.Unsuited("misuse");
    }
    Warning warning = new Warning();
    LOG.addHandler(warning);
    try {
      long begin = System.nanoTime();
      publisher = null;
      boolean isFreed = warning.isCollected();
      long ms = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begin);
      return isFreed ? Driver.ok("ms=%d", ms) : List.of("timed-out");
    } finally {
      LOG.removeHandler(warning);
    }
  }

  /** Waits for the warning that a publisher was collected. */
  private static final class Warning extends Handler {
    private final CountDownLatch seen = new CountDownLatch(1);

    boolean isCollected() {
      try {
        for (int i = 0; i < COLLECTIONS_MAX; i++) {
          System.gc();
          if (seen.await(10, TimeUnit.MILLISECONDS)) {
            return true;
          }
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
      return false;
    }

    @Override
    public void publish(LogRecord entry) {
      Object[] what = entry.getParameters();
      if (entry.getLevel() == Level.WARNING && what != null && what[0].equals("publisher")) {
        seen.countDown();
      }
    }

    @Override
    public void flush() {}

    @Override
    public void close() {}
  }
}
