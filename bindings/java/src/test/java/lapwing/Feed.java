package lapwing;

import java.nio.file.Path;
import java.time.Duration;

/** Buses and records for tests. */
final class Feed {
  static final Duration PATIENCE = Duration.ofSeconds(20);

  private static final Schema MBO = Schema.of("dbn.mbo");

  private Feed() {}

  /** Opens a bus of 16-byte records, with the smallest ring: 4,096 slots. */
  static Publisher open(Path directory) {
    return Publisher.open(directory,
        PublisherOptions.builder().recordBytes(16).capacity(4096).build());
  }

  /** Publishes the records first to last. Record n contains n and 2 n. */
  static void publish(Publisher publisher, long first, long last) {
    Row row = Row.allocate(16);
    for (long n = first; n <= last; n++) {
      publisher.publish(row.putLong(0, n).putLong(8, 2 * n));
    }
  }

  /** Creates a closed bus of `count` such records. */
  static void closedBus(Path directory, long count) {
    try (Publisher publisher = open(directory)) {
      publish(publisher, 1, count);
    }
  }

  static Subscriber fromOldest(Path directory) {
    return Subscriber.open(directory,
        SubscriberOptions.builder().start(Start.oldest()).endAtClose(true).build());
  }

  /** Returns a dbn.mbo record that adds an order and ends a venue event. */
  static Row order(long id, char side, long price, int size) {
    return Row.allocate(MBO)
        .put(MBO.field("length"), MBO.recordBytes() / 4)
        .put(MBO.field("rtype"), 0xa0)
        .put(MBO.field("publisher_id"), 1)
        .put(MBO.field("instrument_id"), 4242)
        .put(MBO.field("ts_event"), 1_700_000_000_000_000_000L + id)
        .put(MBO.field("order_id"), id)
        .put(MBO.field("price"), price * Lapwing.PRICE_SCALE)
        .put(MBO.field("size"), size)
        .put(MBO.field("flags"), 0x80)
        .put(MBO.field("action"), 'A')
        .put(MBO.field("side"), side)
        .put(MBO.field("ts_recv"), 1_700_000_000_000_000_000L + id);
  }

  /**
   * Creates a closed bus with two bids and two asks of one instrument; the best are 7 x 99 and 5 x
   * 101.
   */
  static void closedBookBus(Path directory) {
    try (Publisher publisher = Publisher.open(directory,
        PublisherOptions.builder().schemaName("dbn.mbo").recordBytes(56).capacity(4096).build())) {
      publisher.publish(order(1, 'B', 98, 3));
      publisher.publish(order(2, 'B', 99, 7));
      publisher.publish(order(3, 'A', 101, 5));
      publisher.publish(order(4, 'A', 102, 1));
    }
  }
}
