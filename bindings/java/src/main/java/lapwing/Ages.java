package lapwing;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * How old records were when they were delivered, in ns from their publishing, of those that
 * {@link SubscriberOptions#measureEvery} chose. Percentiles are at most a quarter too high.
 *
 * @param count records with an age
 * @param negative records whose time of publishing is in the future, which have no age
 * @param unstamped records without a time of publishing, which have no age
 */
public record Ages(long count, long negative, long unstamped, long p50Ns, long p90Ns, long p99Ns,
    long p999Ns, long maxNs) {

  static Ages of(MemorySegment ages) {
    return new Ages(
        ages.get(ValueLayout.JAVA_LONG, C.ages.count),
        ages.get(ValueLayout.JAVA_LONG, C.ages.negative),
        ages.get(ValueLayout.JAVA_LONG, C.ages.unstamped),
        ages.get(ValueLayout.JAVA_LONG, C.ages.p50_ns),
        ages.get(ValueLayout.JAVA_LONG, C.ages.p90_ns),
        ages.get(ValueLayout.JAVA_LONG, C.ages.p99_ns),
        ages.get(ValueLayout.JAVA_LONG, C.ages.p999_ns),
        ages.get(ValueLayout.JAVA_LONG, C.ages.max_ns));
  }
}
