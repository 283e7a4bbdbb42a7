package lapwing.peers;

import java.util.Locale;

/** Records that detect damage, counts of received records, and a histogram; as in cpp/. */
final class Measure {
    static final long STRIDE = 0x9E3779B97F4A7C15L;
    static final long END_NUMBER = -1L;
    static final long DAMAGED_BIT = 1L << 63;

    private Measure() {
    }

    static void fill(final long[] record, final long number) {
        for (int i = 0; i < record.length; i++) {
            record[i] = number + i * STRIDE;
        }
    }

    static boolean isWhole(final long[] record) {
        long found = 0;
        for (int i = 1; i < record.length; i++) {
            found |= record[i] ^ (record[0] + i * STRIDE);
        }
        return found == 0;
    }

    static String text(final String format, final Object... values) {
        return String.format(Locale.ROOT, format, values);
    }

    static double perSecond(final long count, final long tookNs) {
        return tookNs == 0 ? 0 : count * 1e9 / tookNs;
    }

    static double clockNs() {
        final int looks = 100_000;
        final long start = System.nanoTime();
        long end = start;
        for (int i = 0; i < looks; i++) {
            end = System.nanoTime();
        }
        return (double)(end - start) / looks;
    }

    static final class Arrivals {
        long received;
        long inOrder;
        long torn;
        long outOfOrder;
        long last;

        /** Counts records after `last`. */
        Arrivals(final long last) {
            this.last = last;
        }

        void add(final long[] record) {
            received++;
            if (!isWhole(record)) {
                torn++;
            } else if (record[0] <= last) {
                outOfOrder++;
            } else {
                inOrder++;
                last = record[0];
            }
        }

        /** Torn records count as torn, not as lost. */
        long lost(final long published) {
            return Math.max(0, published - inOrder - torn);
        }
    }

    /**
     * The longest time without a record for a reader. The wait for the first record is not a
     * silence, because records may not have been published yet. The wait for a record that did not
     * arrive before the end is a silence.
     */
    static final class Silences {
        private long lastNs;
        private long longestNs;
        private boolean heard;

        Silences(final long sinceNs) {
            lastNs = sinceNs;
        }

        void addSound(final long nowNs) {
            if (heard) {
                add(nowNs);
            }
            heard = true;
            lastNs = nowNs;
        }

        /** Ends the measurement: no more records are published. Earlier records may still
         * arrive. */
        void end(final long nowNs) {
            add(nowNs);
        }

        long longestNs() {
            return longestNs;
        }

        private void add(final long nowNs) {
            longestNs = Math.max(longestNs, nowNs - lastNs);
        }
    }

    static final class Histogram {
        private static final int BITS = 6;
        private static final long EXACT = 2L << BITS;
        private final long[] counts = new long[((64 - BITS - 1) << BITS) + (int)EXACT];
        private long count;
        private long max;

        void add(final long durationNs) {
            counts[bucketOf(durationNs)]++;
            count++;
            max = Math.max(max, durationNs);
        }

        long percentileNs(final double fraction) {
            final double rank = Math.max(1, Math.ceil(fraction * count));
            long seen = 0;
            for (int bucket = 0; bucket < counts.length; bucket++) {
                seen += counts[bucket];
                if (seen >= rank) {
                    return Math.min(lastOf(bucket), max);
                }
            }
            return max;
        }

        String toJson() {
            return text("{\"p50\": %d, \"p90\": %d, \"p99\": %d, \"p99_9\": %d, \"max\": %d}",
                percentileNs(0.5), percentileNs(0.9), percentileNs(0.99), percentileNs(0.999), max);
        }

        private static int bucketOf(final long value) {
            if (value < EXACT) {
                return (int)value;
            }
            final int shift = 63 - Long.numberOfLeadingZeros(value) - BITS;
            return (shift << BITS) + (int)(value >>> shift);
        }

        private static long lastOf(final int bucket) {
            if (bucket < EXACT) {
                return bucket;
            }
            final int shift = (bucket >> BITS) - 1;
            final long first = (bucket & ((1 << BITS) - 1)) + (EXACT >> 1);
            return ((first + 1) << shift) - 1;
        }
    }
}
