package lapwing;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.util.UUID;

/** Converts strings and ids to and from C. */
final class Text {
  private static final UUID NONE = new UUID(0, 0);

  private Text() {}

  /** Returns the text for C. null becomes NULL. */
  static MemorySegment in(Arena arena, Object text) {
    if (text == null) {
      return MemorySegment.NULL;
    }
    String string = text.toString();
    if (string.indexOf('\0') >= 0) {
      throw new LapwingException(ErrorCode.INVALID_ARGUMENT,
          "a text has a zero in it, and would be cut there: '" + string.replace('\0', '?') + "'");
    }
    return arena.allocateFrom(string);
  }

  /** Returns the text in static memory that ends with a zero. */
  static String of(MemorySegment pointer) {
    return pointer.reinterpret(Integer.MAX_VALUE).getString(0);
  }

  /** Returns an id; null if all bytes are zero, which means none. */
  static UUID id(MemorySegment struct, long offset) {
    ByteBuffer bytes = struct.asSlice(offset, C.id.SIZE).asByteBuffer();
    UUID id = new UUID(bytes.getLong(), bytes.getLong());
    return id.equals(NONE) ? null : id;
  }

  static void putId(MemorySegment struct, long offset, UUID id) {
    if (id == null) {
      struct.asSlice(offset, C.id.SIZE).fill((byte) 0);
      return;
    }
    struct.asSlice(offset, C.id.SIZE).asByteBuffer()
        .putLong(id.getMostSignificantBits()).putLong(id.getLeastSignificantBits());
  }

  /** Allocates a struct, and sets its first field to its size. */
  static MemorySegment struct(Arena arena, long size) {
    MemorySegment struct = arena.allocate(size, 8);
    struct.set(ValueLayout.JAVA_INT, 0, (int) size);
    return struct;
  }
}
