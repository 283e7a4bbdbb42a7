package lapwing.conformance;

import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import lapwing.ErrorCode;
import lapwing.Symbols;

/** Steps of symbols. */
final class SymbolSteps {
  private final Handles handles;

  private SymbolSteps(Handles handles) {
    this.handles = handles;
  }

  static void add(Map<String, Driver.Operation> operations, Handles handles) {
    var steps = new SymbolSteps(handles);
    operations.put("symbols.open", steps::open);
    operations.put("symbols.find", steps::find);
    operations.put("symbols.name", steps::name);
    operations.put("symbols.list", steps::list);
    operations.put("symbols.destroy", step -> handles.close(step, Symbols.class));
  }

  private Symbols on(Step step) {
    return handles.on(step, Symbols.class);
  }

  private static List<String> notFound() {
    return List.of(ErrorCode.NOT_FOUND.toString());
  }

  private List<String> open(Step step) {
    handles.put(step, Symbols.open(step.path("directory")));
    return Driver.ok();
  }

  private List<String> find(Step step) {
    var found = on(step).findNs(step.text("symbol"), step.number("utc_ns"));
    return found.isPresent()
        ? Driver.ok("instrument=%s", Integer.toUnsignedString(found.getAsInt())) : notFound();
  }

  private List<String> name(Step step) {
    return on(step).nameNs(step.whole("instrument"), step.number("utc_ns"))
        .map(mapping -> Driver.ok("mapping=%s", text(mapping))).orElseGet(SymbolSteps::notFound);
  }

  private List<String> list(Step step) {
    return Driver.ok("mappings=%s", on(step).mappings().stream().map(SymbolSteps::text)
        .collect(Collectors.joining(",")));
  }

  private static String text(Symbols.Mapping mapping) {
    return mapping.symbol() + ":" + Integer.toUnsignedString(mapping.instrumentId()) + ":"
        + DateTimeFormatter.BASIC_ISO_DATE.format(mapping.startDate()) + ":"
        + DateTimeFormatter.BASIC_ISO_DATE.format(mapping.endDate());
  }
}
