package lapwing.peers;

import lapwing.peers.Measure.Arrivals;
import lapwing.peers.Measure.Histogram;

/** The scenarios, for any peer. Each role returns the fields of its line, or null. */
final class Scenarios {
    private static final int BLOCK_ROUND_TRIPS = 64;
    private static final long WARM_UP_NS_MAX = 2_000_000_000L;
    static final long SILENCE_NS_MAX = 200_000_000L;
    private static final long STEADY_NS = 500_000_000L;
    static final int LOOKS_BETWEEN_CLOCKS = 1024;
    static final long STUCK_NS_MAX = 60_000_000_000L;

    private final Options options;
    private final Peer peer;
    private long number;
    private long damaged;
    private long echoed;
    private final Peer.OnRecord onAnswer = record -> {
        if (!Measure.isWhole(record) || record[0] != number) {
            damaged++;
        }
    };
    private final Peer.OnRecord onEcho = record ->
        echoed = Measure.isWhole(record) ? record[0] : record[0] | Measure.DAMAGED_BIT;

    Scenarios(final Options options, final Peer peer) {
        this.options = options;
        this.peer = peer;
    }

    String run() {
        final boolean saturation = options.scenario.equals("saturation");
        switch (options.role) {
            case "initiator":
                options.awaitFile("echo.ready");
                return roundTrips();
            case "echo":
                options.announce("echo.ready");
                echo();
                return "";
            case "publisher":
                options.readers().forEach(reader -> options.awaitFile(reader + ".ready"));
                return saturation ? saturate() : new Steady().run();
            case "witness":
                options.announce("witness.ready");
                return new Witness(options, peer).run();
            case "subscriber":
                options.announce("subscriber.ready");
                return saturation ? receiveAll() : discard();
            default:
                throw Options.fail("unknown role " + options.role);
        }
    }

    /** A bounded wait for the other side. */
    private static final class Patience {
        private long looks;
        private long sinceNs;

        void pause() {
            Thread.onSpinWait();
            if (++looks % (1 << 16) == 0) {
                final long now = System.nanoTime();
                sinceNs = sinceNs == 0 ? now : sinceNs;
                if (now - sinceNs > STUCK_NS_MAX) {
                    Options.fail("the other side has been silent for a minute");
                }
            }
        }
    }

    private void sendOne(final long which) {
        final Patience patience = new Patience();
        while (peer.send(which, 1) == 0) {
            patience.pause();
        }
    }

    private void exchange() {
        sendOne(++number);
        final Patience patience = new Patience();
        while (peer.receive(onAnswer) == 0) {
            patience.pause();
        }
    }

    private long exchangeBlock() {
        final long start = System.nanoTime();
        for (int i = 0; i < BLOCK_ROUND_TRIPS; i++) {
            exchange();
        }
        return System.nanoTime() - start;
    }

    private String roundTrips() {
        final long startNs = System.nanoTime();
        while (number < options.warmUp && System.nanoTime() - startNs < WARM_UP_NS_MAX) {
            exchangeBlock();
        }
        final long blocks = Math.max(1, options.records / 2 / BLOCK_ROUND_TRIPS);
        final Histogram blockNs = new Histogram();
        for (long i = 0; i < blocks; i++) {
            blockNs.add(exchangeBlock());
        }
        final Histogram ns = new Histogram();
        for (long i = 0; i < blocks * BLOCK_ROUND_TRIPS; i++) {
            final long start = System.nanoTime();
            exchange();
            ns.add(System.nanoTime() - start);
        }
        sendOne(Measure.END_NUMBER);
        return Measure.text("\"round_trips\": %d, \"block_ns_p50\": %f, \"ns\": %s, "
            + "\"clock_ns\": %f, \"damaged\": %d", 2 * blocks * BLOCK_ROUND_TRIPS,
            (double)blockNs.percentileNs(0.5) / BLOCK_ROUND_TRIPS, ns.toJson(),
            Measure.clockNs(), damaged);
    }

    private void echo() {
        while (true) {
            final Patience patience = new Patience();
            while (peer.receive(onEcho) == 0) {
                patience.pause();
            }
            if (echoed == Measure.END_NUMBER) {
                return;
            }
            sendOne(echoed);
        }
    }

    private String saturate() {
        final int together = peer.sendRecordsMax();
        final long startNs = System.nanoTime();
        Patience patience = new Patience();
        for (long next = 1; next <= options.records;) {
            final int sent = peer.send(next, (int)Math.min(together, options.records - next + 1));
            next += sent;
            if (sent == 0) {
                patience.pause();
            } else {
                patience = new Patience();
            }
        }
        final long tookNs = System.nanoTime() - startNs;
        announceAndStay();
        return Measure.text("\"published\": %d, \"published_per_second\": %f", options.records,
            Measure.perSecond(options.records, tookNs));
    }

    /** Announces that all records have been published. Stays until the reader has received
     * everything. */
    private void announceAndStay() {
        options.announce("published");
        options.awaitFile("received");
    }

    private String receiveAll() {
        final Arrivals arrivals = new Arrivals(0);
        final Peer.OnRecord onRecord = arrivals::add;
        final long openedNs = System.nanoTime();
        long firstNs = openedNs;
        long firstCount = 0;
        long lastNs = openedNs;
        long emptyLooks = 0;
        boolean over = false; // all records are published, known since overNs
        long overNs = 0;
        while (arrivals.last < options.records) {
            final boolean first = arrivals.received == 0;
            if (peer.receive(onRecord) != 0) {
                if (first) {
                    firstNs = System.nanoTime();
                    firstCount = arrivals.received;
                }
                emptyLooks = 0;
                continue;
            }
            Thread.onSpinWait();
            if (++emptyLooks % LOOKS_BETWEEN_CLOCKS != 0) {
                continue;
            }
            final long now = System.nanoTime();
            if (emptyLooks == LOOKS_BETWEEN_CLOCKS) {
                lastNs = now;
            }
            if (now - lastNs > SILENCE_NS_MAX && (!over || now - overNs > SILENCE_NS_MAX)) {
                if (over) {
                    break;
                }
                // An earlier silence may be this side's fault, if it was not running then.
                if (options.isAnnounced("published")) {
                    over = true;
                    overNs = System.nanoTime();
                }
            }
            if (now - lastNs > STUCK_NS_MAX) {
                Options.fail("the publisher has been silent");
            }
        }
        if (arrivals.last >= options.records) {
            lastNs = System.nanoTime();
        }
        options.announce("received");
        return Measure.text("\"received\": %d, \"delivered_per_second\": %f, \"lost\": %d, "
            + "\"reported_lost\": %d, \"torn\": %d, \"out_of_order\": %d", arrivals.received,
            Measure.perSecond(arrivals.received - firstCount, lastNs - firstNs), arrivals.lost(options.records),
            peer.reportedLost(), arrivals.torn, arrivals.outOfOrder);
    }

    private String discard() {
        final Peer.OnRecord ignore = record -> { };
        while (true) {
            if (peer.receive(ignore) == 0) {
                Thread.onSpinWait();
            }
        }
    }

    /** A steady rate: record n is due at start + n / rate. */
    private final class Steady {
        private final double intervalNs = 1e9 / options.rate;
        private Histogram ns;
        private long due;
        private long published;
        private long over10Us;
        private long stallsOver1Ms;
        private long longestStallNs;
        private boolean blockedAtEnd;

        String run() {
            publishFor(STEADY_NS);
            options.announce("publisher.ready");
            options.awaitFile("go");
            publishFor((long)(options.seconds * 1e9));
            if (options.hasWitness()) {
                announceAndStay();
            }
            return Measure.text("\"seconds\": %f, \"due\": %d, \"published\": %d, \"ns\": %s, "
                + "\"over_10_us_per_million\": %f, \"stalls_over_1_ms\": %d, "
                + "\"longest_stall_ns\": %d, \"blocked_at_end\": %b", options.seconds, due,
                published, ns.toJson(), over10Us * 1e6 / Math.max(1, due), stallsOver1Ms,
                longestStallNs, blockedAtEnd);
        }

        private void publishFor(final long durationNs) {
            ns = new Histogram();
            published = 0;
            over10Us = 0;
            stallsOver1Ms = 0;
            longestStallNs = 0;
            final long startNs = System.nanoTime();
            for (due = 0; (long)(due * intervalNs) < durationNs; due++) {
                final long dueNs = startNs + (long)(due * intervalNs);
                final long latencyNs = publishOne(dueNs, startNs + durationNs) - dueNs;
                ns.add(latencyNs);
                over10Us += latencyNs > 10_000 ? 1 : 0;
            }
        }

        private long publishOne(final long dueNs, final long endNs) {
            long beganNs = System.nanoTime();
            while (beganNs - dueNs < 0) {
                Thread.onSpinWait();
                beganNs = System.nanoTime();
            }
            if (beganNs - endNs >= 0) {
                return endNs;
            }
            for (long now = beganNs; now - endNs < 0; now = System.nanoTime()) {
                if (peer.send(number + 1, 1) != 0) {
                    number++;
                    published++;
                    now = System.nanoTime();
                    addStall(now - beganNs);
                    return now;
                }
                Thread.onSpinWait();
            }
            addStall(endNs - beganNs);
            blockedAtEnd = true;
            return endNs;
        }

        private void addStall(final long tookNs) {
            stallsOver1Ms += tookNs > 1_000_000 ? 1 : 0;
            longestStallNs = Math.max(longestStallNs, tookNs);
        }
    }
}
