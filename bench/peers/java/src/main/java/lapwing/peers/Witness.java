package lapwing.peers;

import lapwing.peers.Measure.Arrivals;
import lapwing.peers.Measure.Silences;

/** The reader that runs while another one is stopped. It counts like cpp/. */
final class Witness {
    private final Options options;
    private final Peer peer;

    Witness(final Options options, final Peer peer) {
        this.options = options;
        this.peer = peer;
    }

    String run() {
        final Arrivals before = new Arrivals(0);
        listenUntil("publisher.ready", before);
        options.announce("witness.counts");
        final Arrivals arrivals = new Arrivals(before.last);
        final long longestSilenceNs = listenUntil("published", arrivals);
        options.announce("received");
        return Measure.text("\"received\": %d, \"torn\": %d, \"out_of_order\": %d, "
            + "\"longest_silence_ns\": %d", arrivals.received, arrivals.torn,
            arrivals.outOfOrder, longestSilenceNs);
    }

    /** Receives until `file` exists and then no record has arrived for a while. Returns the longest
     * silence. */
    private long listenUntil(final String file, final Arrivals arrivals) {
        final long stuckNs = Scenarios.STUCK_NS_MAX + (long)(options.seconds * 1e9);
        final Peer.OnRecord onRecord = arrivals::add;
        long quietSinceNs = System.nanoTime();
        final Silences silences = new Silences(quietSinceNs);
        long emptyLooks = 0;
        boolean over = false;
        while (true) {
            if (peer.receive(onRecord) != 0) {
                quietSinceNs = System.nanoTime();
                silences.addSound(quietSinceNs);
                continue;
            }
            Thread.onSpinWait();
            if (++emptyLooks % Scenarios.LOOKS_BETWEEN_CLOCKS != 0) {
                continue;
            }
            final long now = System.nanoTime();
            if (!over && options.isAnnounced(file)) {
                over = true;
                silences.end(now);
                quietSinceNs = System.nanoTime(); // this side may not have run before
            }
            if (over && now - quietSinceNs > Scenarios.SILENCE_NS_MAX) {
                return silences.longestNs();
            }
            if (now - quietSinceNs > stuckNs) {
                throw Options.fail("the publisher has been silent");
            }
        }
    }
}
