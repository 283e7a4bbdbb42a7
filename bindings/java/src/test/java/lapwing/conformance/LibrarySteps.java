package lapwing.conformance;

import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import lapwing.ErrorCode;
import lapwing.Lapwing;
import lapwing.Schema;

/** Steps with the library itself. */
final class LibrarySteps {
  private static final int UNKNOWN = 36;

  private LibrarySteps() {}

  static void add(Map<String, Driver.Operation> operations) {
    operations.put("library.version", step -> Driver.ok("abi=%s", Lapwing.abi()));
    operations.put("library.errors", LibrarySteps::errors);
    operations.put("library.schema", LibrarySteps::schema);
  }

  private static List<String> errors(Step step) {
    return Driver.ok("%s", IntStream.rangeClosed(0, UNKNOWN)
        .mapToObj(number -> number + "=" + Driver.named(ErrorCode.nameOf(number)))
        .collect(Collectors.joining(",")));
  }

  private static List<String> schema(Step step) {
    Schema schema = step.has("directory") ? Schema.ofBus(step.path("directory"))
        : Schema.of(step.text("name"));
    String fields = schema.fields().stream()
        .map(field -> field.name() + ":" + field.type().number() + ":" + field.offset() + ":"
            + field.bytes() + ":" + field.unit().ordinal() + ":" + field.role().ordinal())
        .collect(Collectors.joining(","));
    return Driver.ok("name=%s version=%d record_bytes=%d fields=%s", schema.name(),
        schema.version(), schema.recordBytes(), fields);
  }
}
