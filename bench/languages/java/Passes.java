package rates;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.Arrays;

/** The timed passes of a rate. The first one warms up, and does not count. */
final class Passes {
  private static final ThreadMXBean THREADS =
      (ThreadMXBean) ManagementFactory.getThreadMXBean();

  private final long records; // of a pass
  private final long[] ns;
  private int next = -1;
  private long allocated; // in the passes that count
  private long beginNs;
  private long beginAllocated;

  Passes(Rates.Step step) {
    records = step.number("records");
    ns = new long[step.whole("passes")];
  }

  boolean areLeft() {
    return next < ns.length;
  }

  long records() {
    return records;
  }

  void begin() {
    beginAllocated = THREADS.getTotalThreadAllocatedBytes();
    beginNs = System.nanoTime();
  }

  void end() {
    long took = System.nanoTime() - beginNs;
    if (next >= 0) {
      ns[next] = took;
      allocated += THREADS.getTotalThreadAllocatedBytes() - beginAllocated;
    }
    next++;
  }

  /** Of the median pass, a record. */
  String ns() {
    Arrays.sort(ns);
    return Rates.rounded("ns=%.3f", (double) ns[ns.length / 2] / records);
  }

  /** Bytes that all threads have allocated, a record. */
  String garbage() {
    return Rates.rounded(" garbage=%.3f", (double) allocated / ns.length / records);
  }
}
