package lapwing;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/**
 * A record or a state entry, in place in memory: a flyweight. The rows of a batch share one object
 * that moves, so read the fields before you move to the next row. Fields come from a {@link
 * Schema}. The methods that take an offset are the fastest, for fields whose offset you know.
 *
 * <p>A row of a batch is read-only. An allocated row belongs to the program, which can write and
 * publish it.
 */
public final class Row {
  static final ValueLayout.OfShort SHORT =
      ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  static final ValueLayout.OfInt INT =
      ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  static final ValueLayout.OfLong LONG =
      ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  static final ValueLayout.OfFloat FLOAT =
      ValueLayout.JAVA_FLOAT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  static final ValueLayout.OfDouble DOUBLE =
      ValueLayout.JAVA_DOUBLE_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

  /** A source of a row's sequence and other members. */
  interface Source {
    long sequence(long index);

    long conflated(long index);
  }

  private final Source source; // null: an allocated row
  private MemorySegment memory;
  private int bytes;
  private long offset;
  private long index;
  private long sequence; // of an allocated row
  private Schema schema; // of an allocated row; null: plain bytes

  Row(Source source) {
    this.source = source;
  }

  /** Allocates a row in native memory, all zero. */
  public static Row allocate(int bytes) {
    Row row = new Row(null);
    row.lie(Arena.ofAuto().allocate(bytes, 8), bytes);
    return row;
  }

  /**
   * Allocates memory for a record of that schema. If the bus has another schema, publishing the row
   * and reading into it fail with RECORD_SIZE, and the message names the first field that differs.
   */
  public static Row allocate(Schema schema) {
    Row row = allocate(schema.recordBytes());
    row.schema = schema;
    return row;
  }

  Schema schema() {
    return schema;
  }

  /** Sets the memory of the row. */
  void lie(MemorySegment memory, int bytes) {
    this.memory = memory;
    this.bytes = bytes;
  }

  /**
   * Sets the position in the memory. It is only two stores, because a loop does this for each row.
   */
  void move(long offset, long index) {
    this.offset = offset;
    this.index = index;
  }

  void sequence(long taken) {
    sequence = taken;
  }

  /** Sequence of the record; 0 for a state entry. */
  public long sequence() {
    return source == null ? sequence : source.sequence(index);
  }

  /** The number of older records that this one replaces, for a subscriber that conflates. */
  public long conflated() {
    return source == null ? 0 : source.conflated(index);
  }

  /** The size of the row. */
  public int bytes() {
    return bytes;
  }

  /** The bytes of the row, in place. They change when the row moves or its batch is read into. */
  public MemorySegment memory() {
    return bytes == memory.byteSize() ? memory : memory.asSlice(offset, bytes);
  }

  /** Returns a copy of the row's bytes. */
  public byte[] toArray() {
    return memory().toArray(ValueLayout.JAVA_BYTE);
  }

  // ---- by field ---------------------------------------------------------------------------------

  /**
   * Returns an integer or a letter. An unsigned 8-byte number becomes the long with the same bits.
   */
  public long getLong(Field field) {
    long at = at(field);
    return switch (field.type()) {
      case INT64, UINT64 -> memory.get(LONG, at);
      case INT32 -> memory.get(INT, at);
      case UINT32 -> Integer.toUnsignedLong(memory.get(INT, at));
      case INT16 -> memory.get(SHORT, at);
      case UINT16 -> Short.toUnsignedLong(memory.get(SHORT, at));
      case INT8 -> memory.get(ValueLayout.JAVA_BYTE, at);
      case UINT8, CHAR -> Byte.toUnsignedLong(memory.get(ValueLayout.JAVA_BYTE, at));
      default -> throw unsuited(field, "a whole number");
    };
  }

  /** Returns an integer that fits. An unsigned 4-byte number becomes the int with the same bits. */
  public int getInt(Field field) {
    return switch (field.type()) {
      case INT64, UINT64 -> throw unsuited(field, "an int");
      default -> (int) getLong(field);
    };
  }

  /** Returns any number. A price is in units of its currency, such as 4500.25; NaN: none. */
  public double getDouble(Field field) {
    return switch (field.type()) {
      case FLOAT64 -> memory.get(DOUBLE, at(field));
      case FLOAT32 -> memory.get(FLOAT, at(field));
      case UINT64 -> unsigned(getLong(field));
      default -> field.unit() == Field.Unit.PRICE ? price(getLong(field)) : getLong(field);
    };
  }

  /** Returns a letter. */
  public char getChar(Field field) {
    return (char) getLong(field);
  }

  /** Returns the text up to the first zero. */
  public String getText(Field field) {
    if (field.type() == Field.Type.CHAR) {
      return String.valueOf(getChar(field));
    }
    byte[] letters = getBytes(field);
    int end = 0;
    while (end < letters.length && letters[end] != 0) {
      end++;
    }
    return new String(letters, 0, end, StandardCharsets.UTF_8);
  }

  /** Returns a copy of the field's bytes. */
  public byte[] getBytes(Field field) {
    return memory.asSlice(at(field), field.bytes()).toArray(ValueLayout.JAVA_BYTE);
  }

  /** Writes an integer or a letter, truncated to the field's size. */
  public Row put(Field field, long value) {
    long at = at(field);
    switch (field.type()) {
      case INT64, UINT64 -> memory.set(LONG, at, value);
      case INT32, UINT32 -> memory.set(INT, at, (int) value);
      case INT16, UINT16 -> memory.set(SHORT, at, (short) value);
      case INT8, UINT8, CHAR -> memory.set(ValueLayout.JAVA_BYTE, at, (byte) value);
      default -> throw unsuited(field, "a whole number");
    }
    return this;
  }

  /** Writes a floating-point number. */
  public Row put(Field field, double value) {
    switch (field.type()) {
      case FLOAT64 -> memory.set(DOUBLE, at(field), value);
      case FLOAT32 -> memory.set(FLOAT, at(field), (float) value);
      default -> throw unsuited(field, "a floating-point number");
    }
    return this;
  }

  /** Writes a text. The rest of the field becomes zero. */
  public Row put(Field field, String text) {
    byte[] letters = text.getBytes(StandardCharsets.UTF_8);
    if (letters.length > field.bytes()) {
      throw new LapwingException(ErrorCode.INVALID_ARGUMENT, "the field " + field.name() + " has "
          + field.bytes() + " bytes; '" + text + "' takes " + letters.length);
    }
    MemorySegment slice = memory.asSlice(at(field), field.bytes());
    slice.fill((byte) 0).copyFrom(MemorySegment.ofArray(letters));
    return this;
  }

  // ---- by offset in the record ------------------------------------------------------------------

  /** 8 bytes. */
  public long getLong(int at) {
    return memory.get(LONG, inside(at, 8));
  }

  /** 4 bytes. */
  public int getInt(int at) {
    return memory.get(INT, inside(at, 4));
  }

  /** 2 bytes. */
  public short getShort(int at) {
    return memory.get(SHORT, inside(at, 2));
  }

  /** 1 byte. */
  public byte getByte(int at) {
    return memory.get(ValueLayout.JAVA_BYTE, inside(at, 1));
  }

  /** 8 bytes. */
  public double getDouble(int at) {
    return memory.get(DOUBLE, inside(at, 8));
  }

  /** 8 bytes. */
  public Row putLong(int at, long value) {
    memory.set(LONG, inside(at, 8), value);
    return this;
  }

  /** 4 bytes. */
  public Row putInt(int at, int value) {
    memory.set(INT, inside(at, 4), value);
    return this;
  }

  /** 1 byte. */
  public Row putByte(int at, byte value) {
    memory.set(ValueLayout.JAVA_BYTE, inside(at, 1), value);
    return this;
  }

  /** 8 bytes. */
  public Row putDouble(int at, double value) {
    memory.set(DOUBLE, inside(at, 8), value);
    return this;
  }

  private long at(Field field) {
    return inside(field.offset(), field.bytes());
  }

  private long inside(int at, int size) {
    if (at < 0 || at > bytes - size) {
      throw new IndexOutOfBoundsException(
          size + " bytes at " + at + " of a record of " + bytes + " bytes");
    }
    return offset + at;
  }

  private static double price(long value) {
    return value == Lapwing.NO_PRICE ? Double.NaN : (double) value / Lapwing.PRICE_SCALE;
  }

  private static double unsigned(long value) {
    return value >= 0 ? value : (double) (value >>> 1 | value & 1) * 2;
  }

  private static LapwingException unsuited(Field field, String wanted) {
    return new LapwingException(ErrorCode.INVALID_ARGUMENT,
        "the field " + field.name() + " is " + field.type() + ", and not " + wanted);
  }
}
