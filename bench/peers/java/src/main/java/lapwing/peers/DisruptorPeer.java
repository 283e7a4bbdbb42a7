package lapwing.peers;

import com.lmax.disruptor.BusySpinWaitStrategy;
import com.lmax.disruptor.EventPoller;
import com.lmax.disruptor.RingBuffer;

/** Disruptor: a ring of events between two threads of one process, with one producer, polled. */
final class DisruptorPeer implements Peer {
    static final class Event {
        final long[] words;

        Event(final int words) {
            this.words = new long[words];
        }
    }

    /** Created before either side, with one poller each, so that all published records are read. */
    static final class Rings {
        final RingBuffer<Event> ping;
        final RingBuffer<Event> pong;
        final EventPoller<Event> pingPoller;
        final EventPoller<Event> pongPoller;

        Rings(final Options options) {
            ping = ring(options);
            pong = ring(options);
            pingPoller = poller(ping);
            pongPoller = poller(pong);
        }

        private static RingBuffer<Event> ring(final Options options) {
            final int words = options.words();
            return RingBuffer.createSingleProducer(
                () -> new Event(words), (int)options.capacity, new BusySpinWaitStrategy());
        }

        private static EventPoller<Event> poller(final RingBuffer<Event> ring) {
            final EventPoller<Event> poller = ring.newPoller();
            ring.addGatingSequences(poller.getSequence());
            return poller;
        }
    }

    private final RingBuffer<Event> out;
    private final EventPoller<Event> in;
    private OnRecord onRecord;
    private int received;
    private final EventPoller.Handler<Event> handler = (event, sequence, endOfBatch) -> {
        onRecord.on(event.words);
        received++;
        return true;
    };

    DisruptorPeer(final Options options, final Rings rings) {
        out = options.sendsFirst() ? rings.ping : rings.pong;
        in = options.sendsFirst() ? rings.pongPoller : rings.pingPoller;
    }

    @Override
    public int send(final long first, final int count) {
        if (!out.hasAvailableCapacity(count)) {
            return 0;
        }
        final long last = out.next(count);
        for (int i = 0; i < count; i++) {
            Measure.fill(out.get(last - count + 1 + i).words, first + i);
        }
        out.publish(last - count + 1, last);
        return count;
    }

    @Override
    public int receive(final OnRecord callback) {
        onRecord = callback;
        received = 0;
        try {
            in.poll(handler);
        } catch (final Exception error) {
            throw Options.fail("cannot poll: " + error);
        }
        return received;
    }
}
