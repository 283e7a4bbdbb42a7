import java.nio.file.Path;
import java.util.Locale;
import lapwing.Batch;
import lapwing.Book;
import lapwing.BookKey;
import lapwing.Books;
import lapwing.Event;
import lapwing.Item;
import lapwing.Lapwing;
import lapwing.Level;
import lapwing.Start;
import lapwing.Subscriber;
import lapwing.SubscriberOptions;

/**
 * Follows a dbn.mbo bus until it is closed, and prints the best prices of each instrument.
 *
 * <pre>java -cp lapwing.jar --enable-native-access=ALL-UNNAMED examples/TopOfBook.java DIRECTORY</pre>
 */
final class TopOfBook {
  private TopOfBook() {}

  public static void main(String[] arguments) {
    var options =
        SubscriberOptions.builder().name("top of book").start(Start.oldest()).endAtClose(true).build();
    Batch batch = new Batch(4096);
    try (var subscriber = Subscriber.open(Path.of(arguments[0]), options);
        var books = Books.create()) {
      for (Item item : subscriber.items(batch)) {
        books.take(batch);
        if (item instanceof Event event) {
          System.err.println(event);
        }
      }
      for (BookKey key : books.keys()) {
        Book book = books.find(key).orElseThrow();
        System.out.println(key + " " + text(book.bid()) + " | " + text(book.ask()));
      }
    }
  }

  private static String text(Level level) {
    return level.price() == Lapwing.NO_PRICE ? "-" : String.format(Locale.ROOT, "%d x %.2f",
        level.size(), (double) level.price() / Lapwing.PRICE_SCALE);
  }
}
