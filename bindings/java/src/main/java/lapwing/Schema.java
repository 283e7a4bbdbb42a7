package lapwing;

import java.lang.foreign.Arena;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * The fields of a record, with a name and a version. Programs in any language read a struct by name
 * if its publisher gave the schema, as LAPWING_RECORD of C++ does:
 *
 * <pre>{@code
 * Schema schema = subscriber.schema();
 * Field price = schema.field("price");
 * row.getLong(price);
 * }</pre>
 *
 * @param hash of the text, never 0
 * @param fields in the order of their offsets
 * @param text the whole schema in JSON, names of values included: what {@link PublisherOptions#schema} and
 *     {@link SubscriberOptions#expect} take
 */
public record Schema(String name, int version, int recordBytes, long hash, List<Field> fields,
    String text) {

  /** One that Lapwing ships, in its newest version ("dbn.mbo", "kv16"), or "orders", of that fold. */
  public static Schema of(String name) {
    return load(null, name);
  }

  /**
   * The schema of a bus as it is on disk now. {@link Subscriber#schema()} is the schema of the records
   * that a subscriber delivers. {@link ErrorCode#NOT_FOUND}: the bus has no schema.
   */
  public static Schema ofBus(Path directory) {
    return load(directory, null);
  }

  private static Schema load(Path directory, String name) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment error = LapwingException.memory(arena);
      MemorySegment where = Text.in(arena, directory);
      MemorySegment what = Text.in(arena, name);
      return load(error, (schema, fields, fieldsMax, text, textBytesMax) ->
          C.schema_fields(where, what, schema, fields, fieldsMax, text, textBytesMax, error));
    }
  }

  /** A function of C that fills in a schema, as far as the memory goes. */
  interface Source {
    int fill(MemorySegment schema, MemorySegment fields, long fieldsMax, MemorySegment text,
        long textBytesMax);
  }

  static Schema load(MemorySegment error, Source source) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment schema = Text.struct(arena, C.schema.SIZE);
      long count = 0;
      long textBytes = 0;
      for (;;) {
        MemorySegment fields = arena.allocate(count * C.field.SIZE, 8);
        MemorySegment text = arena.allocate(textBytes);
        int result = source.fill(schema, fields, count, text, textBytes);
        long countNow = schema.get(ValueLayout.JAVA_LONG, C.schema.field_count);
        long textNow = schema.get(ValueLayout.JAVA_LONG, C.schema.text_bytes);
        if (result == C.OK && countNow <= count && textNow <= textBytes) {
          return new Schema(schema.getString(C.schema.name),
              schema.get(ValueLayout.JAVA_INT, C.schema.version),
              schema.get(ValueLayout.JAVA_INT, C.schema.record_bytes),
              schema.get(ValueLayout.JAVA_LONG, C.schema.hash),
              fields(fields, countNow), text.getString(0));
        }
        boolean isLarger = countNow > count || textNow > textBytes; // than the memory given
        if (!isLarger || (result != C.OK && result != C.ERROR_TOO_SMALL)) {
          throw LapwingException.of(result, error, 0);
        }
        count = countNow;
        textBytes = textNow;
      }
    }
  }

  private static List<Field> fields(MemorySegment memory, long count) {
    List<Field> fields = new ArrayList<>();
    for (long i = 0; i < count; i++) {
      fields.add(Field.of(memory.asSlice(i * C.field.SIZE, C.field.SIZE)));
    }
    return List.copyOf(fields);
  }

  /** The field of that name. Take it once, outside of loops. */
  public Field field(String name) {
    Field field = find(name);
    if (field != null) {
      return field;
    }
    throw new LapwingException(ErrorCode.NOT_FOUND, "the schema " + this.name
        + " has no field '" + name + "'; it has "
        + String.join(", ", fields.stream().map(Field::name).toList()));
  }

  /** The field of that name, or null if the schema has no such field. */
  Field find(String name) {
    for (Field field : fields) {
      if (field.name().equals(name)) {
        return field;
      }
    }
    return null;
  }

  /**
   * The record as a layout of java.lang.foreign, to make a {@code VarHandle} of each field. Nothing in
   * it is aligned, so it fits rows wherever they begin.
   */
  public StructLayout layout() {
    List<MemoryLayout> members = new ArrayList<>();
    long at = 0;
    for (Field field : fields) {
      if (field.offset() > at) {
        members.add(MemoryLayout.paddingLayout(field.offset() - at));
      }
      members.add(field.layout());
      at = field.offset() + field.bytes();
    }
    if (recordBytes > at) {
      members.add(MemoryLayout.paddingLayout(recordBytes - at));
    }
    return MemoryLayout.structLayout(members.toArray(MemoryLayout[]::new)).withName(name);
  }
}
