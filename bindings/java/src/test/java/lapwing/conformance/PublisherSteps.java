package lapwing.conformance;

import java.util.List;
import java.util.Map;
import lapwing.LapwingException;
import lapwing.Publisher;
import lapwing.PublisherInfo;
import lapwing.PublisherOptions;

/** Steps with publishers. */
final class PublisherSteps {
  private final Handles handles;

  private PublisherSteps(Handles handles) {
    this.handles = handles;
  }

  static void add(Map<String, Driver.Operation> operations, Handles handles) {
    var steps = new PublisherSteps(handles);
    operations.put("publisher.open", steps::open);
    operations.put("publisher.publish", steps::publish);
    operations.put("publisher.flush", step ->
        Driver.ok("durable=%d", steps.on(step).flush(step.timeout())));
    operations.put("publisher.inspect", steps::inspect);
    operations.put("publisher.close", steps::close);
    operations.put("publisher.interrupt", steps::interrupt);
    operations.put("publisher.destroy", steps::destroy);
  }

  private Publisher on(Step step) {
    return handles.on(step, Publisher.class);
  }

  private List<String> open(Step step) {
    PublisherOptions.Builder options = PublisherOptions.builder()
        .schemaName(step.text("schema_name"))
        .schema(step.text("schema"))
        .recordBytes(step.whole("record_bytes"))
        .capacity(step.number("capacity"))
        .retainBytes(step.number("retain_bytes"))
        .noJournal(step.isSet("no_journal"))
        .resume(step.isSet("resume"))
        .source(step.number("source_id"), 0);
    step.number("segment_bytes", options::segmentBytes);
    handles.put(step, Publisher.open(step.path("directory"), options.build(), step.timeout()));
    return Driver.ok();
  }

  private List<String> publish(Step step) {
    Publisher publisher = handles.find(step, "on", Publisher.class);
    if (publisher == null) {
      return List.of("misuse last=0");
    }
    int bytes = (int) step.number("bytes", publisher.recordBytes());
    byte[] rows = TestRows.rows(step.number("from"), step.whole("count"), bytes);
    try {
      return Driver.ok("last=%d", publisher.publish(
          java.lang.foreign.MemorySegment.ofArray(rows), bytes, step.timeout()));
    } catch (LapwingException e) {
      return List.of(Driver.named(e.name()) + " last=" + e.progress());
    }
  }

  private List<String> inspect(Step step) {
    PublisherInfo info = on(step).inspect();
    return Driver.ok("record_bytes=%d first=%d head=%d settled=%s journal=%s source_offset=%d"
        + " void=%d-%d", info.recordBytes(), info.first(), info.head(), info.settled(),
        info.journalState(), info.sourceOffset(), info.voidFirst(), info.voidLast());
  }

  private List<String> close(Step step) {
    on(step).end(step.timeout());
    return Driver.ok();
  }

  private List<String> interrupt(Step step) {
    on(step).interrupt();
    return Driver.ok();
  }

  private List<String> destroy(Step step) {
    Publisher publisher = on(step);
    handles.remove(step);
    publisher.destroy();
    return Driver.ok();
  }
}
