package lapwing.conformance;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;

/** The rows of scenarios, and digests of them. */
final class TestRows {
  private TestRows() {}

  /** 64-bit FNV-1a. */
  static final class Digest {
    private long value = 0xcbf29ce484222325L;

    Digest add(MemorySegment bytes) {
      for (long i = 0; i < bytes.byteSize(); i++) {
        value ^= Byte.toUnsignedLong(bytes.get(ValueLayout.JAVA_BYTE, i));
        value *= 0x100000001b3L;
      }
      return this;
    }

    @Override
    public String toString() {
      return String.format("%016x", value);
    }
  }

  static String digest(MemorySegment bytes) {
    return new Digest().add(bytes).toString();
  }

  /** Returns row n: n as 8 bytes, little-endian, and then (n + k) mod 256. */
  static byte[] row(long n, int bytes) {
    return rows(n, 1, bytes);
  }

  /** Returns the payloads of a send step. */
  static List<byte[]> payloads(Step step) {
    List<byte[]> payloads = new ArrayList<>();
    int bytes = step.whole("bytes");
    for (int i = 0; i < step.number("count", 1); i++) {
      payloads.add(row(step.number("n") + i, bytes));
    }
    return payloads;
  }

  static byte[] rows(long from, int count, int bytes) {
    byte[] rows = new byte[count * bytes];
    for (int i = 0; i < count; i++) {
      long n = from + i;
      for (int k = 0; k < bytes; k++) {
        rows[i * bytes + k] = (byte) (k < 8 ? n >>> (8 * k) : n + k);
      }
    }
    return rows;
  }
}
