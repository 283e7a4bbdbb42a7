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
 * The fields of a record, with a name and a version. If the publisher provides the schema, as
 * LAPWING_RECORD in C++ does, programs in any language can read the fields by name:
 *
 * <pre>{@code
 * Schema schema = subscriber.schema();
 * Field price = schema.field("price");
 * row.getLong(price);
 * }</pre>
 *
 * @param hash hash of the text, never 0
 * @param fields in the order of their offsets
 * @param text the whole schema in JSON, including the names of values, for
 *     {@link PublisherOptions#schema} and {@link SubscriberOptions#expect}
 */
public record Schema(String name, int version, int recordBytes, long hash, List<Field> fields,
    String text) {

  /**
   * Returns the newest version of a schema that Lapwing ships ("dbn.mbo", "kv16"), or of the fold
   * "orders".
   */
  public static Schema of(String name) {
    return load(null, name);
  }

  /**
   * Returns the schema of a bus that is currently on disk. {@link Subscriber#schema()} is the
   * schema of the records that a subscriber delivers. {@link ErrorCode#NOT_FOUND}: the bus has no
   * schema.
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

  /** A C function that writes as much of a schema as fits into the buffer. */
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
        boolean isLarger = countNow > count || textNow > textBytes; // larger than the memory
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

  /** Returns the field with that name. Call it once, outside loops. */
  public Field field(String name) {
    Field field = find(name);
    if (field != null) {
      return field;
    }
    throw new LapwingException(ErrorCode.NOT_FOUND, "the schema " + this.name
        + " has no field '" + name + "'; it has "
        + String.join(", ", fields.stream().map(Field::name).toList()));
  }

  /** Returns the field with that name, or null if there is none. */
  Field find(String name) {
    for (Field field : fields) {
      if (field.name().equals(name)) {
        return field;
      }
    }
    return null;
  }

  /**
   * Returns the record as a layout of java.lang.foreign, for a {@code VarHandle} of each field. It
   * requires no alignment, so it fits rows at any address.
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
