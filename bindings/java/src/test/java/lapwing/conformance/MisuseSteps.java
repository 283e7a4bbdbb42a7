package lapwing.conformance;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import lapwing.Batch;
import lapwing.Books;
import lapwing.Cursor;
import lapwing.History;
import lapwing.Lapwing;
import lapwing.Publisher;
import lapwing.Records;
import lapwing.Row;
import lapwing.Subscriber;

/** Steps that perform invalid actions. */
final class MisuseSteps {
  private final DroppedPublisher dropped = new DroppedPublisher();

  private MisuseSteps() {}

  static void add(Map<String, Driver.Operation> operations) {
    var steps = new MisuseSteps();
    operations.put("misuse.used-after", MisuseSteps::usedAfter);
    operations.put("misuse.two-threads", MisuseSteps::twoThreads);
    operations.put("misuse.wait", MisuseSteps::waitInMain);
    operations.put("misuse.exit-in-wait", MisuseSteps::exitInWait);
    operations.put("misuse.open-dropped", steps::openDropped);
    operations.put("misuse.drop", step -> steps.dropped.drop());
  }

  // ---- closed objects ---------------------------------------------------------------------------

  /** One object of each kind. */
  private record OneOfEach(Publisher publisher, Subscriber subscriber, Cursor cursor,
      History history, Books books, ChannelPair channel) {

    static OneOfEach open(Path directory) {
      return new OneOfEach(Publisher.open(Misuse.OWN_BUS, Misuse.ofRows()),
          Subscriber.open(directory), Cursor.open(Path.of("cursor"), Lapwing.NOW),
          History.open(directory), Books.create(), ChannelPair.open(Misuse.CHANNEL));
    }

    /** Closes all of them, and returns the result of each close. */
    List<String> close() {
      return Misuse.thrownByEach(publisher::close, subscriber::close, cursor::close,
          history::close, books::close, channel.listener()::close, channel.producer()::close,
          channel.consumer()::close);
    }
  }

  /** Closes them twice, and returns the names of the results. */
  private static String closeTwice(OneOfEach each) {
    List<String> ends = new ArrayList<>(each.close());
    ends.addAll(each.close());
    return Misuse.joined(ends);
  }

  private static List<String> usedAfter(Step step) {
    OneOfEach each = OneOfEach.open(step.path("directory"));
    String end = closeTwice(each);
    List<String> answers = Misuse.thrownByEach(
        () -> each.publisher.publish(Row.allocate(Misuse.ROW_BYTES)),
        () -> each.subscriber.read(new Batch(1), Lapwing.NOW),
        each.cursor::last,
        each.history::inspect,
        each.books::inspect,
        each.channel.listener()::tend,
        () -> each.channel.producer().claim(8, Lapwing.NOW),
        () -> each.channel.consumer().peek(1, Lapwing.NOW));
    return end.equals("ok") ? Driver.ok("kinds=%d answers=%s", answers.size(), Misuse.joined(answers))
        : List.of(end);
  }

  // ---- invalid calls ----------------------------------------------------------------------------

  private static void readToRecords(Subscriber subscriber, Batch batch) {
    while (!(subscriber.read(batch) instanceof Records)) {}
  }

  /**
   * Waits until an error, and returns its name. Ignores the error of a call that overlaps another
   * one.
   */
  private static String endOfWait(Subscriber subscriber) {
    Batch batch = new Batch(16);
    String end;
    do {
      end = Misuse.thrownBy(() -> readToRecords(subscriber, batch));
    } while (end.equals("misuse"));
    return end;
  }

  private static List<String> twoThreads(Step step) {
    try (Subscriber subscriber = Subscriber.open(step.path("directory"))) {
      var first = CompletableFuture.supplyAsync(() -> endOfWait(subscriber));
      Batch batch = new Batch(16);
      String second;
      do {
        second = Misuse.thrownBy(() -> subscriber.read(batch, Lapwing.NOW));
      } while (second.equals("ok"));
      subscriber.interrupt();
      return Driver.ok("second=%s first=%s", second, first.join());
    }
  }

  // ---- the end of the program, and of an object -------------------------------------------------

  private static List<String> waitInMain(Step step) {
    try (Subscriber subscriber = Subscriber.open(step.path("directory"))) {
      readToRecords(subscriber, new Batch(16));
    }
    return Driver.ok();
  }

  private static List<String> exitInWait(Step step) {
    Subscriber subscriber = Subscriber.open(step.path("directory"));
    Thread.ofPlatform().start(() -> endOfWait(subscriber));
    do { // until it has read everything and waits
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(50));
    } while (Misuse.thrownBy(subscriber::inspect).equals("ok"));
    System.exit(Misuse.EXIT_CODE);
    return List.of();
  }

  private List<String> openDropped(Step step) {
    Publisher publisher = Publisher.open(step.path("directory"), Misuse.ofRows());
    for (int n = 1; n <= Misuse.DROPPED_ROWS; n++) {
      publisher.publish(TestRows.row(n, Misuse.ROW_BYTES));
    }
    dropped.keep(publisher);
    return Driver.ok();
  }
}
