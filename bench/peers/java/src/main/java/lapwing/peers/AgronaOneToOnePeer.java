package lapwing.peers;

import org.agrona.concurrent.MessageHandler;
import org.agrona.concurrent.ringbuffer.OneToOneRingBuffer;
import org.agrona.concurrent.ringbuffer.RecordDescriptor;
import org.agrona.concurrent.ringbuffer.RingBufferDescriptor;

/** Agrona's one-to-one ring buffer in a mapped file, claimed and written in place. */
final class AgronaOneToOnePeer implements Peer {
    private static final int TYPE_ID = 1;
    private static final int READ_RECORDS_MAX = 256;

    private final OneToOneRingBuffer out;
    private final OneToOneRingBuffer in;
    private final int bytes;
    private final int readRecordsMax;
    private final long[] outWords;
    private final long[] inWords;
    private OnRecord onRecord;
    private final MessageHandler handler = (typeId, buffer, index, length) -> {
        for (int i = 0; i < inWords().length; i++) {
            inWords()[i] = buffer.getLong(index + i * Long.BYTES);
        }
        onRecord.on(inWords());
    };

    AgronaOneToOnePeer(final Options options) {
        bytes = options.bytes;
        outWords = new long[options.words()];
        inWords = new long[options.words()];
        readRecordsMax = options.bothWays() ? 1 : READ_RECORDS_MAX;
        final long record = (bytes + RecordDescriptor.HEADER_LENGTH + RecordDescriptor.ALIGNMENT - 1)
            / RecordDescriptor.ALIGNMENT * RecordDescriptor.ALIGNMENT;
        final long capacity = Long.highestOneBit(2 * options.capacity * record - 1);
        out = options.sends() ? new OneToOneRingBuffer(MappedBuffer.make(options,
            options.outName(), capacity + RingBufferDescriptor.TRAILER_LENGTH)) : null;
        in = options.receives()
            ? new OneToOneRingBuffer(MappedBuffer.open(options, options.inName())) : null;
    }

    private long[] inWords() {
        return inWords;
    }

    @Override
    public int send(final long first, final int count) {
        for (int sent = 0; sent < count; sent++) {
            final int index = out.tryClaim(TYPE_ID, bytes);
            if (index < 0) {
                return sent;
            }
            Measure.fill(outWords, first + sent);
            final var buffer = out.buffer();
            for (int i = 0; i < outWords.length; i++) {
                buffer.putLong(index + i * Long.BYTES, outWords[i]);
            }
            out.commit(index);
        }
        return count;
    }

    @Override
    public int receive(final OnRecord callback) {
        onRecord = callback;
        return in.read(handler, readRecordsMax);
    }
}
