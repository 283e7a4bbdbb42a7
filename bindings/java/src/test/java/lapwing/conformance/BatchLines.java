package lapwing.conformance;

import java.util.ArrayList;
import java.util.List;
import lapwing.Event;
import lapwing.Item;
import lapwing.Records;
import lapwing.Row;
import lapwing.Rows;

/**
 * Lines of rows and events. All rows between two events are on one line, however many batches they
 * take.
 */
final class BatchLines {
  private final boolean hasConflated; // for a subscriber whose sequences are not consecutive
  private final List<String> lines = new ArrayList<>();
  private TestRows.Digest digest = new TestRows.Digest();
  private boolean isState;
  private long first;
  private long last;
  private long count;
  private int rowBytes;
  private long conflated;

  BatchLines(boolean hasConflated) {
    this.hasConflated = hasConflated;
  }

  static List<String> of(Item item, boolean hasConflated) {
    BatchLines lines = new BatchLines(hasConflated);
    lines.add(item);
    return lines.end();
  }

  void add(Item item) {
    switch (item) {
      case Rows rows -> add(rows);
      case Event event -> {
        endRun();
        lines.add(line(event));
      }
    }
  }

  private void add(Rows rows) {
    if (count == 0) {
      first = rows.first();
    }
    isState = !(rows instanceof Records);
    rowBytes = rows.rowBytes();
    for (Row row : rows) {
      count++;
      last = row.sequence();
      conflated += row.conflated();
    }
    digest.add(rows.memory());
  }

  private void endRun() {
    if (count > 0) {
      String tail = "count=" + count + " row_bytes=" + rowBytes + " digest=" + digest;
      lines.add(isState ? "ok state " + tail : "ok records first=" + first + " last=" + last + " "
          + tail + (hasConflated ? " conflated=" + conflated : ""));
    }
    digest = new TestRows.Digest();
    count = 0;
    conflated = 0;
  }

  /** Returns all lines, and one for the result. */
  List<String> end(String result) {
    endRun();
    lines.add(result);
    return lines;
  }

  private List<String> end() {
    endRun();
    return lines;
  }

  private static String line(Event event) {
    String text = "ok event kind=" + event.kind() + " sequence=" + event.sequence();
    return switch (event.kind()) {
      case GAP, LOST -> text + " first=" + event.first() + " last=" + event.last() + " cause="
          + event.cause() + " fillable=" + (event.isFillable() ? 1 : 0);
      case SESSION, RESET ->
          text + " record_bytes=" + event.recordBytes() + " schema=" + event.schemaName();
      case SNAPSHOT_COMPLETE -> text + " entries=" + event.stateEntries();
      default -> text;
    };
  }
}
