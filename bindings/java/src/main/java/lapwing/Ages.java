package lapwing;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * Times from when records were published to their delivery, in ns, for the records that {@link
 * SubscriberOptions#measureEvery} selected. Percentiles are at most a quarter too high.
 *
 * @param count records with an age
 * @param negative records without an age, because their publish time is in the future
 * @param unstamped records without an age, because they have no publish time
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
