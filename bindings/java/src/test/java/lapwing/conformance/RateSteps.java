package lapwing.conformance;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import lapwing.Batch;
import lapwing.Lapwing;
import lapwing.Publisher;
import lapwing.PublisherOptions;
import lapwing.Records;
import lapwing.Row;
import lapwing.Start;
import lapwing.Subscriber;
import lapwing.SubscriberOptions;
import lapwing.WaitMode;

/** Steps that time how fast records are read and published. */
final class RateSteps {
  static final int RECORD_BYTES = 56;

  private static final long CAPACITY = 1 << 20;
  private static final int CACHE_LINE = 64;

  private RateSteps() {}

  static void add(Map<String, Driver.Operation> operations) {
    operations.put("rate.read", RateSteps::read);
    operations.put("rate.take", RateSteps::take);
    operations.put("rate.publish", RateSteps::publish);
    operations.put("rate.publish-one", RateSteps::publishOne);
    RoundTripSteps.add(operations);
  }

  static SubscriberOptions.Builder fromOldest() {
    return SubscriberOptions.builder().start(Start.oldest()).waitMode(WaitMode.BUSY)
        .onGap(SubscriberOptions.OnGap.SKIP); // without a journal nothing fills one
  }

  static PublisherOptions withoutJournal(long capacity) {
    return PublisherOptions.builder().recordBytes(RECORD_BYTES).capacity(capacity).noJournal(true)
        .build();
  }

  private static List<String> read(Step step) {
    Passes passes = new Passes(step);
    Batch batch = new Batch(step.whole("rows"));
    while (passes.areLeft()) {
      try (Subscriber subscriber = Subscriber.open(step.path("directory"), fromOldest().build())) {
        passes.begin();
        for (long left = passes.records(); left > 0; ) {
          if (subscriber.read(batch) instanceof Records records) {
            left -= records.count();
          }
        }
        passes.end();
      }
    }
    return Driver.ok("ns=%s garbage=%s", passes.ns(), passes.garbage());
  }

  private static List<String> take(Step step) {
    Passes passes = new Passes(step);
    Row row = Row.allocate(RECORD_BYTES);
    Batch events = new Batch(1);
    while (passes.areLeft()) {
      try (Subscriber subscriber = Subscriber.open(step.path("directory"), fromOldest().build())) {
        passes.begin();
        for (long left = passes.records(); left > 0; ) {
          long sequence = subscriber.readOne(row, Lapwing.NOW);
          if (sequence == Subscriber.EVENT_DUE) {
            subscriber.read(events);
          } else if (sequence != Subscriber.NOTHING) {
            left--;
          }
        }
        passes.end();
      }
    }
    return Driver.ok("ns=%s", passes.ns());
  }

  private static List<String> publish(Step step) {
    Passes passes = new Passes(step);
    long rows = step.number("rows");
    MemorySegment batch = Arena.ofAuto().allocate(rows * RECORD_BYTES, CACHE_LINE);
    MemorySegment rest = batch.asSlice(0, passes.records() % rows * RECORD_BYTES);
    try (Publisher publisher =
        Publisher.open(step.path("directory"), withoutJournal(CAPACITY))) {
      while (passes.areLeft()) {
        passes.begin();
        for (long left = passes.records(); left > 0; left -= rows) {
          publisher.publish(left < rows ? rest : batch);
        }
        passes.end();
      }
    }
    return Driver.ok("ns=%s", passes.ns());
  }

  private static List<String> publishOne(Step step) {
    Passes passes = new Passes(step);
    Row row = Row.allocate(RECORD_BYTES);
    try (Publisher publisher =
        Publisher.open(step.path("directory"), withoutJournal(CAPACITY))) {
      while (passes.areLeft()) {
        passes.begin();
        for (long left = passes.records(); left > 0; left--) {
          publisher.publish(row);
        }
        passes.end();
      }
    }
    return Driver.ok("ns=%s", passes.ns());
  }
}
