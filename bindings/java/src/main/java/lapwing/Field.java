package lapwing;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * A field of a record: its position and its meaning.
 *
 * @param offset from the beginning of the record, in bytes
 * @param bytes its size
 */
public record Field(String name, int offset, int bytes, Type type, Unit unit, Role role) {
  /** The type of the bytes. Numbers are little-endian. */
  public enum Type {
    INT8(C.TYPE_INT8), INT16(C.TYPE_INT16), INT32(C.TYPE_INT32), INT64(C.TYPE_INT64),
    UINT8(C.TYPE_UINT8), UINT16(C.TYPE_UINT16), UINT32(C.TYPE_UINT32), UINT64(C.TYPE_UINT64),
    FLOAT32(C.TYPE_FLOAT32), FLOAT64(C.TYPE_FLOAT64),
    /** One letter. */
    CHAR(C.TYPE_CHAR),
    /** Letters, up to the first zero or the end. */
    TEXT(C.TYPE_TEXT),
    BYTES(C.TYPE_BYTES);

    private final int number;

    Type(int number) {
      this.number = number;
    }

    /** The number in C. */
    public int number() {
      return number;
    }

    private static Type of(int number) {
      for (Type type : values()) {
        if (type.number == number) {
          return type;
        }
      }
      return BYTES; // a type of a later release
    }
  }

  /** The unit of a number. */
  public enum Unit {
    PLAIN,
    /** 1e-9 of a currency or point; {@link Lapwing#NO_PRICE}: none. */
    PRICE,
    /** Nanoseconds since 1970; {@link Lapwing#NO_TIME}: none. */
    UTC_NS,
    /** A sum of named bits. */
    FLAGS
  }

  /** The purpose of the field. */
  public enum Role {
    DATA,
    /** The record's time, in UTC nanoseconds. */
    TIME,
    /** The subject of the record; there may be several. */
    KEY,
    /** The publish time, in UTC nanoseconds. */
    PUBLISH_TIME,
    /** Bytes without a meaning yet. */
    SPARE
  }

  static Field of(MemorySegment field) {
    return new Field(field.getString(C.field.name),
        field.get(ValueLayout.JAVA_INT, C.field.offset),
        field.get(ValueLayout.JAVA_INT, C.field.bytes),
        Type.of(field.get(ValueLayout.JAVA_INT, C.field.type)),
        at(Unit.values(), field.get(ValueLayout.JAVA_INT, C.field.unit)),
        at(Role.values(), field.get(ValueLayout.JAVA_INT, C.field.role)));
  }

  private static <T> T at(T[] values, int number) {
    return values[number < values.length ? number : 0]; // 0 also for later releases
  }

  /** Returns the layout of this field alone, with its name. */
  MemoryLayout layout() {
    MemoryLayout layout = switch (type) {
      case INT8, UINT8, CHAR -> ValueLayout.JAVA_BYTE;
      case INT16, UINT16 -> Row.SHORT;
      case INT32, UINT32 -> Row.INT;
      case INT64, UINT64 -> Row.LONG;
      case FLOAT32 -> Row.FLOAT;
      case FLOAT64 -> Row.DOUBLE;
      case TEXT, BYTES -> MemoryLayout.sequenceLayout(bytes, ValueLayout.JAVA_BYTE);
    };
    return layout.withName(name);
  }
}
