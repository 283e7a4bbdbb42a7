package rates;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.Arrays;

/** The timed passes of a rate. The first one is a warm-up and is not counted. */
final class Passes {
  private static final ThreadMXBean THREADS =
      (ThreadMXBean) ManagementFactory.getThreadMXBean();

  private final long records; // per pass
  private final long[] ns;
  private int next = -1;
  private long allocated; // in the counted passes
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

  /** The median pass, in ns per record. */
  String ns() {
    Arrays.sort(ns);
    return Rates.rounded("ns=%.3f", (double) ns[ns.length / 2] / records);
  }

  /** Bytes that all threads have allocated, per record. */
  String garbage() {
    return Rates.rounded(" garbage=%.3f", (double) allocated / ns.length / records);
  }
}
