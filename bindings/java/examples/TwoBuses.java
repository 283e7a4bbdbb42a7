import java.nio.file.Path;
import java.time.Duration;
import lapwing.Batch;
import lapwing.Event;
import lapwing.Item;
import lapwing.Lapwing;
import lapwing.Records;
import lapwing.Start;
import lapwing.Subscriber;
import lapwing.SubscriberOptions;
import lapwing.WaitSet;

/**
 * Reads two buses on one thread until both are closed. Prints the number of records from each bus
 * once a second.
 *
 * <pre>java -cp lapwing.jar --enable-native-access=ALL-UNNAMED examples/TwoBuses.java BUS BUS</pre>
 */
final class TwoBuses {
  private static final SubscriberOptions FROM_OLDEST =
      SubscriberOptions.builder().name("two buses").start(Start.oldest()).build();

  /** The program's data for a bus, used as the token of its source. */
  private static final class Bus {
    final Subscriber subscriber;
    long records;

    Bus(Subscriber subscriber) {
      this.subscriber = subscriber;
    }

    /** Reads a batch or an event, if one is available. Returns false if the bus was closed. */
    boolean take(Batch batch) {
      Item item = subscriber.read(batch, Lapwing.NOW);
      if (item instanceof Records rows) {
        records += rows.count();
      }
      return !(item instanceof Event event && event.kind() == Event.Kind.CLOSED);
    }
  }

  private TwoBuses() {}

  public static void main(String[] arguments) {
    Path first = Path.of(arguments[0]);
    Path second = Path.of(arguments[1]);
    try (WaitSet<Bus> set = WaitSet.open();
        Subscriber ofFirst = Subscriber.open(first, FROM_OLDEST);
        Subscriber ofSecond = Subscriber.open(second, FROM_OLDEST)) {
      Bus a = new Bus(ofFirst);
      Bus b = new Bus(ofSecond);
      set.add(ofFirst, a);
      set.add(ofSecond, b);
      set.addTimer(Duration.ofSeconds(1), Duration.ofSeconds(1), null);
      Batch batch = new Batch(4096); // one batch for all sources on this thread
      for (int open = 2; open > 0; ) {
        WaitSet.Source<Bus> ready = set.await(Lapwing.FOREVER);
        if (ready.kind() == WaitSet.Kind.TIMER) {
          System.err.println(a.records + " and " + b.records + " records");
        } else if (!ready.token().take(batch)) {
          set.remove(ready);
          open--;
        }
      }
      System.out.println(first.getFileName() + " " + a.records);
      System.out.println(second.getFileName() + " " + b.records);
    }
  }
}
