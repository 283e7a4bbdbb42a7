import java.nio.file.Path;
import lapwing.Publisher;
import lapwing.PublisherOptions;
import lapwing.Row;
import lapwing.Schema;

/**
 * Publishes ten records of a struct that this program defines, and prints the last durable
 * sequence.
 *
 * <p>The schema is the same as LAPWING_RECORD generates from a C++ struct
 * (docs/reference/records.md). Programs in any language can then read the fields by name.
 *
 * <pre>java -cp lapwing.jar --enable-native-access=ALL-UNNAMED examples/Publish.java DIRECTORY</pre>
 */
final class Publish {
  private static final String QUOTE = """
      {"name":"desk.quote","version":1,"record_bytes":24,"fields":[
      {"name":"time","type":"uint64","offset":0,"unit":"utc_ns","role":"time"},
      {"name":"instrument","type":"uint32","offset":8,"role":"key"},
      {"name":"size","type":"uint32","offset":12},
      {"name":"price","type":"int64","offset":16,"unit":"price"}]}""";

  private Publish() {}

  public static void main(String[] arguments) {
    Path directory = Path.of(arguments[0]);
    var options = PublisherOptions.builder().schema(QUOTE).capacity(4096).build();
    try (var publisher = Publisher.open(directory, options)) {
      Schema schema = Schema.ofBus(directory);
      var time = schema.field("time");
      var instrument = schema.field("instrument");
      var size = schema.field("size");
      var price = schema.field("price");
      Row quote = Row.allocate(schema);
      for (int i = 1; i <= 10; i++) {
        publisher.publish(quote
            .put(time, System.currentTimeMillis() * 1_000_000)
            .put(instrument, 42)
            .put(size, i)
            .put(price, 4_500_250_000_000L + i * 250_000_000L)); // 4500.25 and up, in steps of 0.25
      }
      System.out.println("durable up to " + publisher.flush(lapwing.Lapwing.FOREVER));
    }
  }
}
