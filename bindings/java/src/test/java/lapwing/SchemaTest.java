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

  @Test
  void aStructOfOnesOwnIsReadByNameAndAsALayout() {
    try (Publisher publisher = Publisher.open(directory,
        new PublisherOptions().description(SIGNAL).capacity(4096))) {
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
        new SubscriberOptions().start(Start.oldest()).endAtClose(true).expect(schema))) {
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
