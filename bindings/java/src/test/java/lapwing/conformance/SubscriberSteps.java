package lapwing.conformance;

import java.util.List;
import java.util.Map;
import lapwing.Batch;
import lapwing.Cursor;
import lapwing.ErrorCode;
import lapwing.Event;
import lapwing.Item;
import lapwing.LapwingException;
import lapwing.Position;
import lapwing.Row;
import lapwing.Start;
import lapwing.Subscriber;
import lapwing.SubscriberInfo;
import lapwing.SubscriberOptions;
import lapwing.WaitMode;

/** Steps with subscribers and cursors. */
final class SubscriberSteps {
  private static final int ROW_BYTES_MAX = 4096;

  /** A subscriber, and whether the sequences of its rows are not consecutive. */
  record Opened(Subscriber subscriber, boolean isSparse) implements AutoCloseable {
    @Override
    public void close() {
      subscriber.close();
    }
  }

  private final Handles handles;

  private SubscriberSteps(Handles handles) {
    this.handles = handles;
  }

  static void add(Map<String, Driver.Operation> operations, Handles handles) {
    var steps = new SubscriberSteps(handles);
    operations.put("subscriber.open", steps::open);
    operations.put("subscriber.read", steps::read);
    operations.put("subscriber.read-all", steps::readAll);
    operations.put("subscriber.take", steps::take);
    operations.put("subscriber.inspect", steps::inspect);
    operations.put("subscriber.position", steps::position);
    operations.put("subscriber.fd", steps::descriptor);
    operations.put("subscriber.interrupt", steps::interrupt);
    operations.put("subscriber.destroy", step -> handles.close(step, Opened.class));
    operations.put("cursor.open", steps::openCursor);
    operations.put("cursor.position", steps::cursorPosition);
    operations.put("cursor.commit", steps::commit);
    operations.put("cursor.destroy", step -> handles.close(step, Cursor.class));
  }

  /** Returns the subscriber that a step names. For the steps with books. */
  static Subscriber named(Handles handles, Step step, String key) {
    return handles.named(step, key, Opened.class).subscriber();
  }

  private Subscriber on(Step step) {
    return named(handles, step, "on");
  }

  private List<String> open(Step step) {
    var options = SubscriberOptions.builder()
        .start(start(step))
        .fold(step.text("fold"))
        .expect(step.text("expect"))
        .instruments(step.list("instruments").toArray(String[]::new))
        .onGap(step.choice("on_gap", SubscriberOptions.OnGap.class))
        .waitMode(step.choice("wait", WaitMode.class))
        .endAtClose(step.isSet("end_at_close"))
        .reattach(step.milliseconds("reattach_ms"))
        .staleAfter(step.milliseconds("stale_after_ms"))
        .behindRecords(step.whole("behind_records"));
    if (step.has("conflate_ms")) {
      options.conflate(step.milliseconds("conflate_ms"));
    }
    boolean isSparse = step.has("conflate_ms") || !step.list("instruments").isEmpty();
    handles.put(step, new Opened(Subscriber.open(step.path("directory"), options.build()), isSparse));
    return Driver.ok();
  }

  private Start start(Step step) {
    String start = step.has("start") ? step.text("start") : "live";
    boolean hasValue = start.equals("sequence") || start.equals("time");
    if (step.number("value") != 0 && !hasValue) {
      throw new Step.Unsuited("invalid-argument"); // only some kinds of Start have a value
    }
    return switch (start) {
      case "live" -> Start.live();
      case "oldest" -> Start.oldest();
      case "sequence" -> Start.sequence(step.number("value"));
      case "time" -> Start.timeNs(step.number("value"));
      case "snapshot" -> Start.snapshot();
      case "after" -> Start.after(handles.find(step, "position", Position.class));
      default -> throw new Step.Unsuited("invalid-argument");
    };
  }

  private static int rowBytes(Subscriber subscriber) {
    int known = subscriber.inspect().recordBytes();
    return known == 0 ? ROW_BYTES_MAX : known;
  }

  private List<String> read(Step step) {
    Opened on = handles.on(step, Opened.class);
    int rows = step.whole("rows");
    long bytes = step.has("bytes") ? step.number("bytes")
        : (long) rows * rowBytes(on.subscriber());
    Batch batch = Batch.ofBytes(rows, bytes);
    try {
      Item item = on.subscriber().read(batch, step.timeout());
      return item == null ? Driver.nothing(step) : BatchLines.of(item, on.isSparse());
    } catch (LapwingException e) {
      if (e.code() == ErrorCode.TOO_SMALL) {
        return List.of(e.name() + " row_bytes=" + batch.rowBytes());
      }
      throw e;
    }
  }

  private List<String> readAll(Step step) {
    Opened on = handles.on(step, Opened.class);
    Batch batch = new Batch(64);
    BatchLines lines = new BatchLines(on.isSparse());
    for (;;) {
      Item item;
      try {
        item = on.subscriber().read(batch, step.timeout());
      } catch (LapwingException e) {
        return lines.end(Driver.named(e.name()));
      }
      if (item == null) {
        return lines.end(Driver.nothing(step).getFirst());
      }
      lines.add(item);
      if (item instanceof Event event && event.kind().toString().equals(step.text("until"))) {
        return lines.end("ok");
      }
    }
  }

  private List<String> take(Step step) {
    Subscriber subscriber = on(step);
    int bytes = step.has("bytes") ? step.whole("bytes") : rowBytes(subscriber);
    Row row = Row.allocate(bytes);
    long sequence = subscriber.readOne(row, step.timeout());
    if (sequence == Subscriber.NOTHING) {
      return Driver.nothing(step);
    }
    return sequence == Subscriber.EVENT_DUE ? List.of(ErrorCode.EVENT_DUE.toString())
        : Driver.ok("sequence=%d digest=%s", sequence, TestRows.digest(row.memory()));
  }

  private List<String> inspect(Step step) {
    SubscriberInfo info = on(step).inspect();
    return Driver.ok("record_bytes=%d schema=%s records=%d first=%d last=%d gaps=%d lost=%d"
        + " filled=%d sessions=%d filtered=%d conflated=%d", info.recordBytes(), info.schemaName(),
        info.records(), info.first(), info.last(), info.gaps(), info.lost(), info.filled(),
        info.sessions(), info.filtered(), info.conflated());
  }

  private List<String> position(Step step) {
    Position position = on(step).position(step.number("sequence"));
    handles.put(step, position);
    return Driver.ok("sequence=%d", position.sequence());
  }

  private List<String> descriptor(Step step) {
    int fd = on(step).fd();
    return Driver.ok("readable=%d", Poll.isReadable(fd, step.timeout()) ? 1 : 0);
  }

  private List<String> interrupt(Step step) {
    on(step).interrupt();
    return Driver.ok();
  }

  private List<String> openCursor(Step step) {
    handles.put(step, step.isSet("durable") ? Cursor.openDurable(step.path("path"), step.timeout())
        : Cursor.open(step.path("path"), step.timeout()));
    return Driver.ok();
  }

  private List<String> cursorPosition(Step step) {
    var last = handles.on(step, Cursor.class).last();
    if (last.isEmpty()) {
      return List.of(ErrorCode.NOT_FOUND.toString());
    }
    Cursor.Commit commit = last.get();
    handles.put(step, commit.position());
    return Driver.ok("sequence=%d bytes=%d file=%d", commit.position().sequence(),
        commit.outputBytes(), commit.outputFile());
  }

  private List<String> commit(Step step) {
    Cursor cursor = handles.on(step, Cursor.class);
    Position position = handles.find(step, "position", Position.class);
    if (position == null) {
      throw new Step.Unsuited("invalid-argument");
    }
    cursor.commit(new Cursor.Commit(position, step.number("bytes"), step.number("file")));
    return Driver.ok();
  }
}
