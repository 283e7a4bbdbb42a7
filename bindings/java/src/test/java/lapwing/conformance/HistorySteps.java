package lapwing.conformance;

import java.util.List;
import java.util.Map;
import lapwing.Batch;
import lapwing.History;
import lapwing.HistoryView;
import lapwing.Item;
import lapwing.Row;

/** Steps with histories and their views. */
final class HistorySteps {
  private final Handles handles;

  private HistorySteps(Handles handles) {
    this.handles = handles;
  }

  static void add(Map<String, Driver.Operation> operations, Handles handles) {
    var steps = new HistorySteps(handles);
    operations.put("history.open", steps::open);
    operations.put("history.inspect", steps::inspect);
    operations.put("history.read", steps::read);
    operations.put("history.find-time", step ->
        Driver.ok("sequence=%d", steps.on(step).findTimeNs(step.number("value"))));
    operations.put("history.map", steps::map);
    operations.put("history.unmap", step -> handles.close(step, HistoryView.class));
    operations.put("history.destroy", step -> handles.close(step, History.class));
  }

  private History on(Step step) {
    return handles.on(step, History.class);
  }

  private List<String> open(Step step) {
    handles.put(step, History.open(step.path("directory")));
    return Driver.ok();
  }

  private List<String> inspect(Step step) {
    History.Info info = on(step).inspect();
    return Driver.ok("record_bytes=%d schema=%s oldest=%d archived=%d durable=%d",
        info.recordBytes(), info.schemaName(), info.oldest(), info.archived(), info.durable());
  }

  private List<String> read(Step step) {
    Item item = on(step).read(step.number("first"), new Batch(step.whole("rows")));
    return item == null ? Driver.nothing(step) : BatchLines.of(item, false);
  }

  private List<String> map(Step step) {
    HistoryView view = on(step).map(step.number("first"), step.number("last"));
    var digest = new TestRows.Digest();
    for (Row row : view) {
      digest.add(row.memory());
    }
    handles.put(step, view);
    return Driver.ok("first=%d count=%d row_bytes=%d digest=%s", view.first(), view.count(),
        view.rowBytes(), digest);
  }
}
