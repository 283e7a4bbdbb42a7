package lapwing.peers;

import io.aeron.Aeron;
import io.aeron.ExclusivePublication;
import io.aeron.Publication;
import io.aeron.Subscription;
import io.aeron.driver.MediaDriver;
import io.aeron.driver.ThreadingMode;
import io.aeron.logbuffer.BufferClaim;
import io.aeron.logbuffer.FragmentHandler;
import org.agrona.concurrent.ShutdownSignalBarrier;

/**
 * Aeron IPC: an exclusive publication, claimed, written and read in place. The driver is a separate
 * process. Its conductor, which moves the publisher's limit, does not run on the measured cores.
 */
final class AeronPeer implements Peer {
    private static final int STREAM_PING = 1001;
    private static final int STREAM_PONG = 1002;
    private static final int FRAGMENTS_MAX = 256;
    private static final long TIMER_INTERVAL_NS = 10_000_000;
    private static final long UNTETHERED_TIMEOUT_NS = 50_000_000;

    private final ExclusivePublication out;
    private final Subscription in;
    private final BufferClaim claim = new BufferClaim();
    private final int bytes;
    private final boolean mayDisconnect;
    private final int fragmentsMax;
    private final long[] outWords;
    private final long[] inWords;
    private OnRecord onRecord;
    private final FragmentHandler handler;

    AeronPeer(final Options options, final boolean tethered) {
        bytes = options.bytes;
        outWords = new long[options.words()];
        inWords = new long[options.words()];
        mayDisconnect = options.scenario.equals("stopped-reader");
        fragmentsMax = options.bothWays() ? 1 : FRAGMENTS_MAX;
        handler = (buffer, offset, length, header) -> {
            for (int i = 0; i < inWords.length; i++) {
                inWords[i] = buffer.getLong(offset + i * Long.BYTES);
            }
            onRecord.on(inWords);
        };
        final Aeron aeron = Aeron.connect(new Aeron.Context().aeronDirectoryName(directory(options)));
        final String subscribed = tethered ? "aeron:ipc" : "aeron:ipc?tether=false";
        final int outStream = options.sendsFirst() ? STREAM_PING : STREAM_PONG;
        final int inStream = options.sendsFirst() ? STREAM_PONG : STREAM_PING;
        in = options.receives() ? aeron.addSubscription(subscribed, inStream) : null;
        out = options.sends() ? aeron.addExclusivePublication("aeron:ipc", outStream) : null;
        while (out != null && !out.isConnected() || in != null && !in.isConnected()) {
            Options.sleepMs(1);
        }
    }

    private static String directory(final Options options) {
        return options.shared.resolve("aeron").toString();
    }

    static void drive(final Options options, final boolean tethered) {
        final ShutdownSignalBarrier barrier = new ShutdownSignalBarrier();
        final MediaDriver.Context context = new MediaDriver.Context()
            .aeronDirectoryName(directory(options))
            .threadingMode(ThreadingMode.SHARED)
            .termBufferSparseFile(false)
            .dirDeleteOnStart(true);
        if (!tethered) {
            // By default an untethered reader is removed after ten seconds, as late as a dead one.
            context.timerIntervalNs(TIMER_INTERVAL_NS)
                .untetheredWindowLimitTimeoutNs(UNTETHERED_TIMEOUT_NS)
                .untetheredLingerTimeoutNs(UNTETHERED_TIMEOUT_NS);
        }
        try (MediaDriver driver = MediaDriver.launch(context)) {
            options.announce("driver.ready");
            barrier.await();
        }
    }

    @Override
    public int send(final long first, final int count) {
        for (int sent = 0; sent < count; sent++) {
            final long position = out.tryClaim(bytes, claim);
            if (position == Publication.BACK_PRESSURED || position == Publication.ADMIN_ACTION) {
                return sent;
            }
            if (position == Publication.NOT_CONNECTED && mayDisconnect) {
                // The stopped reader has been removed; publishing only costs this check.
                return count;
            }
            if (position < 0) {
                throw Options.fail("cannot claim: " + Publication.errorString(position));
            }
            Measure.fill(outWords, first + sent);
            final var buffer = claim.buffer();
            final int offset = claim.offset();
            for (int i = 0; i < outWords.length; i++) {
                buffer.putLong(offset + i * Long.BYTES, outWords[i]);
            }
            claim.commit();
        }
        return count;
    }

    @Override
    public int receive(final OnRecord callback) {
        onRecord = callback;
        return in.poll(handler, fragmentsMax);
    }
}
