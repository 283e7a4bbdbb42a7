package lapwing.peers;

import org.agrona.concurrent.UnsafeBuffer;
import org.agrona.concurrent.broadcast.BroadcastBufferDescriptor;
import org.agrona.concurrent.broadcast.BroadcastReceiver;
import org.agrona.concurrent.broadcast.BroadcastTransmitter;
import org.agrona.concurrent.broadcast.RecordDescriptor;

/**
 * Agrona's broadcast buffer in a mapped file. A receiver copies a record, then validates the copy.
 * A lapped receiver continues at the newest record.
 */
final class AgronaBroadcastPeer implements Peer {
    private static final int TYPE_ID = 1;

    private final BroadcastTransmitter out;
    private final BroadcastReceiver in;
    private final UnsafeBuffer source;
    private final long[] outWords;
    private final long[] inWords;

    AgronaBroadcastPeer(final Options options) {
        outWords = new long[options.words()];
        inWords = new long[options.words()];
        source = new UnsafeBuffer(new byte[options.bytes]);
        final int alignment = RecordDescriptor.RECORD_ALIGNMENT;
        final long record =
            (options.bytes + RecordDescriptor.HEADER_LENGTH + alignment - 1) / alignment * alignment;
        final long capacity = Long.highestOneBit(2 * options.capacity * record - 1);
        out = options.sends() ? new BroadcastTransmitter(MappedBuffer.make(options,
            options.outName(), capacity + BroadcastBufferDescriptor.TRAILER_LENGTH)) : null;
        in = options.receives()
            ? new BroadcastReceiver(MappedBuffer.open(options, options.inName())) : null;
    }

    @Override
    public int send(final long first, final int count) {
        for (int sent = 0; sent < count; sent++) {
            Measure.fill(outWords, first + sent);
            for (int i = 0; i < outWords.length; i++) {
                source.putLong(i * Long.BYTES, outWords[i]);
            }
            out.transmit(TYPE_ID, source, 0, outWords.length * Long.BYTES);
        }
        return count;
    }

    @Override
    public int receive(final OnRecord onRecord) {
        if (!in.receiveNext()) {
            return 0;
        }
        final var buffer = in.buffer();
        final int offset = in.offset();
        for (int i = 0; i < inWords.length; i++) {
            inWords[i] = buffer.getLong(offset + i * Long.BYTES);
        }
        if (!in.validate()) {
            return 0;
        }
        onRecord.on(inWords);
        return 1;
    }
}
