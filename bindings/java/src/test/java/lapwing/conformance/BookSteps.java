package lapwing.conformance;

import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import lapwing.Batch;
import lapwing.Book;
import lapwing.BookKey;
import lapwing.Books;
import lapwing.ErrorCode;
import lapwing.Event;
import lapwing.Item;
import lapwing.Level;
import lapwing.Side;
import lapwing.Subscriber;

/** Steps of order books. */
final class BookSteps {
  private final Handles handles;

  private BookSteps(Handles handles) {
    this.handles = handles;
  }

  static void add(Map<String, Driver.Operation> operations, Handles handles) {
    var steps = new BookSteps(handles);
    operations.put("books.create", steps::create);
    operations.put("books.follow", steps::follow);
    operations.put("books.take", steps::takeTwice);
    operations.put("books.inspect", steps::inspect);
    operations.put("books.list", step -> List.of(joined("ok ", steps.on(step).keys())));
    operations.put("books.find", steps::find);
    operations.put("books.levels", steps::levels);
    operations.put("books.orders", steps::orders);
    operations.put("books.destroy", step -> handles.close(step, Books.class));
  }

  private Books on(Step step) {
    return handles.on(step, Books.class);
  }

  private static BookKey key(Step step) {
    return new BookKey(step.whole("publisher"), step.whole("instrument"));
  }

  private static Side side(Step step) {
    return switch (step.text("side")) {
      case "B" -> Side.BID;
      case "A" -> Side.ASK;
      default -> throw new Step.Unsuited("invalid-argument");
    };
  }

  private static String joined(String before, List<?> elements) {
    String all = elements.stream().map(Object::toString).collect(Collectors.joining(","));
    return all.isEmpty() ? before.trim() : before + all;
  }

  private static String text(Level level) {
    return level.price() + ":" + level.size() + ":" + level.orders();
  }

  private List<String> create(Step step) {
    handles.put(step, Books.create());
    return Driver.ok();
  }

  private List<String> follow(Step step) {
    Subscriber subscriber = SubscriberSteps.named(handles, step, "from");
    Books books = on(step);
    Batch batch = new Batch((int) step.number("rows", 64));
    for (;;) {
      Item item = subscriber.read(batch, step.timeout());
      if (item == null) {
        return Driver.nothing(step);
      }
      books.take(batch);
      if (item instanceof Event event && event.kind().toString().equals(step.text("until"))) {
        return Driver.ok();
      }
    }
  }

  private List<String> takeTwice(Step step) {
    Subscriber subscriber = SubscriberSteps.named(handles, step, "from");
    Books books = on(step);
    Batch batch = new Batch(16);
    if (subscriber.read(batch, step.timeout()) == null) {
      return Driver.nothing(step);
    }
    try {
      books.take(batch);
    } catch (lapwing.LapwingException e) {
      // The second one is what counts.
    }
    books.take(batch);
    return Driver.ok();
  }

  private List<String> inspect(Step step) {
    Books.Info info = on(step).inspect();
    return Driver.ok("sequence=%d books=%d orders=%d settled=%d loading=%d digest=%016x",
        info.sequence(), info.books(), info.orders(), info.isSettled() ? 1 : 0,
        info.isLoading() ? 1 : 0, info.digest());
  }

  private List<String> find(Step step) {
    Book book = on(step).find(key(step)).orElse(null);
    if (book == null) {
      return List.of(ErrorCode.NOT_FOUND.toString());
    }
    return Driver.ok("bid=%s ask=%s orders=%d stale=%d settled=%d levels=%d:%d",
        text(book.bid()), text(book.ask()), book.orders(), book.isStale() ? 1 : 0,
        book.isSettled() ? 1 : 0, book.bidLevels(), book.askLevels());
  }

  private List<String> levels(Step step) {
    return List.of(joined("ok ", on(step)
        .levels(key(step), side(step), step.number("from"), step.whole("max"))
        .stream().map(BookSteps::text).toList()));
  }

  private List<String> orders(Step step) {
    return List.of(joined("ok ", on(step)
        .orders(key(step), side(step), step.number("level"))
        .stream().map(order -> order.orderId() + ":" + order.size()).toList()));
  }
}
