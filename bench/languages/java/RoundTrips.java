package rates;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import lapwing.Batch;
import lapwing.Channel;
import lapwing.ChannelOptions;
import lapwing.Consumer;
import lapwing.Lapwing;
import lapwing.LapwingException;
import lapwing.Listener;
import lapwing.Messages;
import lapwing.Producer;
import lapwing.Publisher;
import lapwing.Row;
import lapwing.Subscriber;
import lapwing.WaitMode;

/** Round trips between two processes, over two buses or over two channels. */
final class RoundTrips {
  private static final Duration PATIENCE = Duration.ofSeconds(10);
  private static final long CAPACITY = 4096;
  private static final int MESSAGE_BYTES = 32;
  private static final long BLOCK = 1000; // round trips

  private RoundTrips() {}

  /** Times round trips in blocks and returns the median block. The first one is a warm-up. */
  private static String timed(long count, Runnable roundTrip) {
    List<Double> blocks = new ArrayList<>();
    for (long left = count; left > 0; left -= BLOCK) {
      long trips = Math.min(left, BLOCK);
      long begin = System.nanoTime();
      for (long i = 0; i < trips; i++) {
        roundTrip.run();
      }
      blocks.add((double) (System.nanoTime() - begin) / trips);
    }
    if (blocks.size() > 1) {
      blocks.removeFirst();
    }
    Collections.sort(blocks);
    return Rates.rounded("ns=%.1f", blocks.get(blocks.size() / 2));
  }

  // ---- two buses --------------------------------------------------------------------------------

  /** A bus to the other process, and a bus from it. */
  private record Buses(Publisher out, Subscriber in, Row row, Batch events)
      implements AutoCloseable {

    /** The first read waits for the other process's bus. */
    static Buses open(Rates.Step step) {
      return new Buses(Publisher.open(step.path("out"), Rates.withoutJournal(CAPACITY)),
          Subscriber.open(step.path("in"), Rates.fromOldest().reattach(PATIENCE).build()),
          Row.allocate(Rates.RECORD_BYTES), new Batch(1));
    }

    void publish() {
      out.publish(row);
    }

    void take() {
      while (in.readOne(row, Lapwing.FOREVER) == Subscriber.EVENT_DUE) {
        in.read(events);
      }
    }

    @Override
    public void close() {
      in.close();
      out.close();
    }
  }

  static String echo(Rates.Step step) {
    try (Buses buses = Buses.open(step)) {
      for (long left = step.number("count"); left > 0; left--) {
        buses.take();
        buses.publish();
      }
      return "";
    }
  }

  static String ping(Rates.Step step) {
    try (Buses buses = Buses.open(step)) {
      return timed(step.number("count"), () -> {
        buses.publish();
        buses.take();
      });
    }
  }

  // ---- two channels -----------------------------------------------------------------------------

  private static ChannelOptions busy() {
    return ChannelOptions.builder().waitMode(WaitMode.BUSY).retry(PATIENCE).build();
  }

  private static <T extends Channel> T accepted(T channel) {
    if (channel == null) {
      throw new IllegalStateException("the other side did not connect");
    }
    return channel;
  }

  private static void send(Producer out, MemorySegment payload, int type) {
    out.claim(MESSAGE_BYTES, Lapwing.FOREVER).copyFrom(payload);
    out.commit(MESSAGE_BYTES, type);
  }

  static String channelEcho(Rates.Step step) {
    try (Listener listener = Listener.open(step.path("path"));
        Consumer in = accepted(listener.acceptConsumer(busy(), PATIENCE));
        Producer out = accepted(listener.acceptProducer(busy(), PATIENCE))) {
      for (long left = step.number("count"); left > 0; left--) {
        Messages messages = in.peek(1, Lapwing.FOREVER);
        send(out, messages.payload(0), messages.type(0));
        in.release(1);
      }
      try {
        out.drain(PATIENCE);
      } catch (LapwingException e) {
        // The other side has ended after receiving everything.
      }
      return "";
    }
  }

  static String channelPing(Rates.Step step) {
    MemorySegment payload = Arena.ofAuto().allocate(MESSAGE_BYTES, 8);
    try (Producer out = Producer.connect(step.path("path"), busy(), PATIENCE);
        Consumer in = Consumer.connect(step.path("path"), busy(), PATIENCE)) {
      return timed(step.number("count"), () -> {
        send(out, payload, 1);
        payload.copyFrom(in.peek(1, Lapwing.FOREVER).payload(0));
        in.release(1);
      });
    }
  }
}
