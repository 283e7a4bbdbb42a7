package lapwing.conformance;

import java.util.List;
import java.util.Map;
import lapwing.Batch;
import lapwing.Books;
import lapwing.Event;
import lapwing.Item;
import lapwing.Subscriber;

/** Steps with order books. */
final class BookSteps {
  private final Handles handles;

  private BookSteps(Handles handles) {
    this.handles = handles;
  }

  static void add(Map<String, Driver.Operation> operations, Handles handles) {
    var steps = new BookSteps(handles);
    operations.put("books.create", steps::create);
    operations.put("books.follow", steps::follow);
    operations.put("books.inspect", steps::inspect);
    operations.put("books.destroy", step -> handles.close(step, Books.class));
  }

  private Books on(Step step) {
    return handles.on(step, Books.class);
  }

  private List<String> create(Step step) {
    handles.put(step, Books.create());
    return Driver.ok();
  }

  private List<String> follow(Step step) {
    Subscriber subscriber = SubscriberSteps.named(handles, step, "from");
    Books books = on(step);
    Batch batch = new Batch(64);
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

  private List<String> inspect(Step step) {
    Books.Info info = on(step).inspect();
    return Driver.ok("sequence=%d books=%d orders=%d settled=%d loading=%d digest=%016x",
        info.sequence(), info.books(), info.orders(), info.isSettled() ? 1 : 0,
        info.isLoading() ? 1 : 0, info.digest());
  }
}
