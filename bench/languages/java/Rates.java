package rates;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
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

/** The rates of reading and publishing records. See README.md in the parent folder. */
final class Rates {
  static final int RECORD_BYTES = 56;

  private static final long CAPACITY = 1 << 20;
  private static final int CACHE_LINE = 64;

  private Rates() {}

  /** The arguments of a rate: key=value. */
  record Step(Map<String, String> values) {
    Path path(String key) {
      return Path.of(values.get(key));
    }

    long number(String key) {
      return Long.parseLong(values.get(key));
    }

    int whole(String key) {
      return (int) number(key);
    }
  }

  public static void main(String[] arguments) {
    run(rates(), arguments);
  }

  /** The rates that this package supports, by name. */
  static Map<String, Function<Step, String>> rates() {
    return new HashMap<>(Map.of("read", Rates::read, "take", Rates::take, "publish", Rates::publish,
        "publish-one", Rates::publishOne, "echo", RoundTrips::echo, "ping", RoundTrips::ping,
        "channel-echo", RoundTrips::channelEcho, "channel-ping", RoundTrips::channelPing));
  }

  /** Runs the rate named by the first argument, and prints its result. */
  static void run(Map<String, Function<Step, String>> rates, String[] arguments) {
    Map<String, String> values = new HashMap<>();
    for (int i = 1; i < arguments.length; i++) {
      String[] pair = arguments[i].split("=", 2);
      values.put(pair[0], pair[1]);
    }
    System.out.println(rates.get(arguments[0]).apply(new Step(values)));
  }

  static String rounded(String format, double value) {
    return String.format(Locale.ROOT, format, value);
  }

  static SubscriberOptions.Builder fromOldest() {
    return SubscriberOptions.builder().start(Start.oldest()).waitMode(WaitMode.BUSY)
        .onGap(SubscriberOptions.OnGap.SKIP); // there is no journal to fill gaps
  }

  static PublisherOptions withoutJournal(long capacity) {
    return PublisherOptions.builder().recordBytes(RECORD_BYTES).capacity(capacity).noJournal(true)
        .build();
  }

  private static String read(Step step) {
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
    return passes.ns() + passes.garbage();
  }

  private static String take(Step step) {
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
    return passes.ns();
  }

  private static String publish(Step step) {
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
    return passes.ns();
  }

  private static String publishOne(Step step) {
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
    return passes.ns();
  }
}
