package lapwing.peers;

import net.openhft.chronicle.bytes.Bytes;
import net.openhft.chronicle.queue.ChronicleQueue;
import net.openhft.chronicle.queue.ExcerptAppender;
import net.openhft.chronicle.queue.ExcerptTailer;
import net.openhft.chronicle.queue.impl.single.SingleChronicleQueueBuilder;
import net.openhft.chronicle.queue.rollcycles.LargeRollCycles;
import net.openhft.chronicle.wire.DocumentContext;

/** Chronicle Queue on tmpfs: documents written and read in place. Keeps all records, never waits.
 * */
final class ChroniclePeer implements Peer {
    private static final long BLOCK_BYTES = 256L << 20;

    private final ExcerptAppender out;
    private final ExcerptTailer in;
    private final long[] outWords;
    private final long[] inWords;

    ChroniclePeer(final Options options) {
        outWords = new long[options.words()];
        inWords = new long[options.words()];
        out = options.sends() ? queue(options, options.outName()).createAppender() : null;
        if (out != null) {
            options.announce(options.outName() + ".made");
        }
        if (options.receives()) {
            options.awaitFile(options.inName() + ".made");
        }
        in = options.receives() ? queue(options, options.inName()).createTailer() : null;
    }

    private static ChronicleQueue queue(final Options options, final String name) {
        return SingleChronicleQueueBuilder.binary(options.shared.resolve(name))
            .rollCycle(LargeRollCycles.LARGE_DAILY).blockSize(BLOCK_BYTES).build();
    }

    @Override
    public int send(final long first, final int count) {
        for (int sent = 0; sent < count; sent++) {
            Measure.fill(outWords, first + sent);
            try (DocumentContext document = out.writingDocument()) {
                final Bytes<?> bytes = document.wire().bytes();
                for (final long word : outWords) {
                    bytes.writeLong(word);
                }
            }
        }
        return count;
    }

    @Override
    public int receive(final OnRecord onRecord) {
        try (DocumentContext document = in.readingDocument()) {
            if (!document.isPresent()) {
                return 0;
            }
            final Bytes<?> bytes = document.wire().bytes();
            for (int i = 0; i < inWords.length; i++) {
                inWords[i] = bytes.readLong();
            }
            onRecord.on(inWords);
            return 1;
        }
    }
}
