package lapwing.conformance;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** The rows of scenarios, and digests of them. */
final class TestRows {
  private TestRows() {}

  /** FNV-1a of 64 bits. */
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

  /** Row n: n as 8 bytes, little-endian, and then (n + k) mod 256. */
  static byte[] row(long n, int bytes) {
    return rows(n, 1, bytes);
  }

  /** What a publish step publishes: the rows of a file, or of those numbers. */
  static byte[] rows(Step step, int bytes) {
    return step.has("file") ? file(step)
        : rows(step.number("from"), step.whole("count"), bytes);
  }

  /** The payloads of a send step: the bytes of a file, in messages of that size, or numbered ones. */
  static List<byte[]> payloads(Step step) {
    List<byte[]> payloads = new ArrayList<>();
    int bytes = step.whole("bytes");
    if (step.has("file")) {
      byte[] all = file(step);
      for (int at = 0; at < all.length; at += bytes) {
        payloads.add(Arrays.copyOfRange(all, at, Math.min(at + bytes, all.length)));
      }
      return payloads;
    }
    for (int i = 0; i < step.number("count", 1); i++) {
      payloads.add(row(step.number("n") + i, bytes));
    }
    return payloads;
  }

  private static byte[] file(Step step) {
    try {
      return Files.readAllBytes(step.path("file"));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static byte[] rows(long from, int count, int bytes) {
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
