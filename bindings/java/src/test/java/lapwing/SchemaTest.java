package lapwing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemoryLayout.PathElement;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SchemaTest {
  private static final String SIGNAL = """
      {"name":"desk.signal","version":1,"record_bytes":32,"fields":[
      {"name":"ts_recv","type":"uint64","offset":0,"unit":"utc_ns","role":"time"},
      {"name":"instrument","type":"uint32","offset":8,"role":"key"},
      {"name":"weight","type":"float32","offset":12},
      {"name":"fair_value","type":"float64","offset":16},
      {"name":"desk","type":"text","offset":25,"bytes":4},
      {"name":"side","type":"char","offset":31}]}""";

  @TempDir Path directory;

  @Test
  void aShippedSchemaHasItsFields() {
    Schema mbo = Schema.of("dbn.mbo");
    assertEquals(56, mbo.recordBytes());
    Field price = mbo.field("price");
    assertEquals(new Field("price", 24, 8, Field.Type.INT64, Field.Unit.PRICE, Field.Role.DATA), price);
    assertTrue(mbo.text().startsWith("{\"name\":\"dbn.mbo\""), mbo.text());
    assertTrue(assertThrows(LapwingException.class, () -> mbo.field("prize"))
        .getMessage().contains("order_id, price"));
  }

  @Test
  void theLargestShippedSchemaFits() {
    assertTrue(Schema.of("dbn.definition").fields().size() > 64);
  }

  private static final String MOVED = "a row of desk.signal is not a record of this bus, "
      + "desk.signal: field weight is at byte 12, not at 8";

  private static void isRefused(String words, org.junit.jupiter.api.function.Executable call) {
    LapwingException refused = assertThrows(LapwingException.class, call);
    assertEquals(ErrorCode.RECORD_SIZE, refused.code());
    assertTrue(refused.getMessage().contains(words), refused.getMessage());
  }

  @Test
  void aRowOfAnotherSchemaIsRefusedByTheFieldThatDiffers(@TempDir Path other) {
    // The fields instrument and weight are swapped.
    String moved = SIGNAL.replace("instrument", "x").replace("weight", "instrument")
        .replace("x\"", "weight\"").replace(",\"role\":\"key\"", "")
        .replace("\"float32\"", "\"u\"").replace("\"uint32\"", "\"float32\"")
        .replace("\"u\"", "\"uint32\"");
    try (Publisher publisher = Publisher.open(directory,
            PublisherOptions.builder().schema(SIGNAL).capacity(4096).build());
        Publisher there = Publisher.open(other,
            PublisherOptions.builder().schema(moved).capacity(4096).build())) {
      Schema schema = Schema.ofBus(directory);
      Row row = Row.allocate(schema);
      for (int i = 0; i < 2; i++) {
        isRefused(MOVED, () -> there.publish(row));
      }
      assertEquals(0, there.inspect().head());
      assertEquals(1, publisher.publish(row));
      assertEquals(1, there.publish(Row.allocate(Schema.ofBus(other))));
      isRefused(MOVED, () -> there.publish(row));
      assertEquals(2, there.publish(Row.allocate(schema.recordBytes()))); // plain bytes

      try (Subscriber subscriber = Subscriber.open(other,
          SubscriberOptions.builder().start(Start.oldest()).build())) {
        assertEquals(Subscriber.EVENT_DUE, subscriber.readOne(row, Feed.PATIENCE));
        Item first = subscriber.read(new Batch(1), Feed.PATIENCE);
        assertEquals(Event.Kind.SESSION, ((Event) first).kind());
        isRefused(MOVED, () -> subscriber.readOne(row, Feed.PATIENCE));
        Row fitting = Row.allocate(subscriber.schema());
        assertEquals(1, subscriber.readOne(fitting, Feed.PATIENCE)); // nothing was consumed
      }
    }
  }

  /** Creates a closed bus of 16-byte records whose second field has that name. */
  private void busOfPairs(String second) {
    String pair = """
        {"name":"desk.pair","version":1,"record_bytes":16,"fields":[
        {"name":"first","type":"uint64","offset":0},{"name":"%s","type":"uint64","offset":8}]}""";
    try (Publisher publisher = Publisher.open(directory.resolve("pairs"),
        PublisherOptions.builder().schema(pair.formatted(second)).capacity(4096).build())) {
      publisher.publish(Row.allocate(16).putLong(0, 1).putLong(8, 2));
    }
  }

  private static void readTo(Event.Kind kind, Subscriber subscriber) {
    Batch batch = new Batch(8);
    while (!(subscriber.read(batch, Feed.PATIENCE) instanceof Event event && event.kind() == kind)) {}
  }

  @Test
  void aBusThatWasReplacedHasItsOwnSchema() throws java.io.IOException {
    busOfPairs("old");
    try (Subscriber subscriber = Subscriber.open(directory.resolve("pairs"),
        SubscriberOptions.builder().start(Start.oldest()).build())) {
      assertEquals(ErrorCode.MISUSE,
          assertThrows(LapwingException.class, subscriber::schema).code());
      readTo(Event.Kind.SESSION, subscriber);
      Schema old = subscriber.schema();
      assertEquals("old", old.fields().get(1).name());
      readTo(Event.Kind.CLOSED, subscriber);
      try (var files = java.nio.file.Files.walk(directory.resolve("pairs"))) {
        files.sorted(java.util.Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
      }
      busOfPairs("renamed");
      // The schema on disk differs from the one that was delivered.
      assertEquals("old", subscriber.schema().fields().get(1).name());
      assertEquals(Subscriber.EVENT_DUE, subscriber.readOne(Row.allocate(old), Feed.PATIENCE));
      readTo(Event.Kind.RESET, subscriber);
      Schema renamed = subscriber.schema();
      assertEquals("renamed", renamed.fields().get(1).name());
      isRefused("field renamed is missing. Allocate rows by Subscriber.schema().",
          () -> subscriber.readOne(Row.allocate(old), Feed.PATIENCE));
      Row row = Row.allocate(renamed);
      assertEquals(1, subscriber.readOne(row, Feed.PATIENCE));
      assertEquals(2, row.getLong(renamed.field("renamed")));
    }
  }

  @Test
  void recordsOfABusWithoutASchemaHaveNone() {
    Feed.closedBus(directory, 1);
    try (Subscriber subscriber = Feed.fromOldest(directory)) {
      readTo(Event.Kind.SESSION, subscriber);
      assertEquals(ErrorCode.NOT_FOUND,
          assertThrows(LapwingException.class, subscriber::schema).code());
    }
  }

  @Test
  void aBusWithoutASchemaTakesRowsOfEverySchemaOfItsSize() {
    try (Publisher publisher = Publisher.open(directory,
        PublisherOptions.builder().recordBytes(56).capacity(4096).build())) {
      assertEquals(1, publisher.publish(Row.allocate(Schema.of("dbn.mbo"))));
    }
  }

  @Test
  void aStructOfOnesOwnIsReadByNameAndAsALayout() {
    try (Publisher publisher = Publisher.open(directory,
        PublisherOptions.builder().schema(SIGNAL).capacity(4096).build())) {
      Schema schema = Schema.ofBus(directory);
      assertEquals("desk.signal", schema.name());
      publisher.publish(Row.allocate(schema)
          .put(schema.field("ts_recv"), 17)
          .put(schema.field("instrument"), 0xffff_fffeL)
          .put(schema.field("weight"), 0.5)
          .put(schema.field("fair_value"), 4500.25)
          .put(schema.field("desk"), "rate")
          .put(schema.field("side"), 'B'));
    }
    Schema schema = Schema.ofBus(directory);
    try (Subscriber subscriber = Subscriber.open(directory,
        SubscriberOptions.builder().start(Start.oldest()).endAtClose(true).expect(schema).build())) {
      Batch batch = new Batch(8);
      int seen = 0;
      for (Item item : subscriber.items(batch)) {
        if (!(item instanceof Records records)) {
          continue;
        }
        Row row = records.row(0);
        assertEquals(17, row.getLong(schema.field("ts_recv")));
        assertEquals(0xffff_fffeL, row.getLong(schema.field("instrument")));
        assertEquals(0.5, row.getDouble(schema.field("weight")));
        assertEquals("rate", row.getText(schema.field("desk")));
        assertEquals('B', row.getChar(schema.field("side")));
        assertEquals(4500.25, (double) schema.layout()
            .varHandle(PathElement.groupElement("fair_value")).get(row.memory(), 0L));
        assertEquals(32, schema.layout().byteSize());
        seen++;
      }
      assertEquals(1, seen);
    }
  }

  @Test
  void pricesComeInTheirCurrencyAndNoneAsNoNumber() {
    Field price = Schema.of("dbn.mbo").field("price");
    Row row = Row.allocate(56).put(price, 4_500_250_000_000L);
    assertEquals(4500.25, row.getDouble(price));
    assertTrue(Double.isNaN(row.put(price, Lapwing.NO_PRICE).getDouble(price)));
  }

  @Test
  void anUnsignedNumberOfEightBytesIsNotNegativeAsADouble() {
    Field order = Schema.of("dbn.mbo").field("order_id");
    assertEquals(1.8446744073709552E19, Row.allocate(56).put(order, -1).getDouble(order));
  }

  @Test
  void aFieldOutsideOfTheRecordIsRefused() {
    Field price = Schema.of("dbn.mbo").field("price");
    assertThrows(IndexOutOfBoundsException.class, () -> Row.allocate(16).getLong(price));
    assertThrows(IndexOutOfBoundsException.class, () -> Row.allocate(16).getLong(9));
  }
}
