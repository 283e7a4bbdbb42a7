package lapwing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class LibraryTest {
  @Test
  void everyErrorHasTheNumberAndTheNameOfTheLibrary() {
    for (ErrorCode code : ErrorCode.values()) {
      if (code != ErrorCode.UNKNOWN) {
        assertEquals(ErrorCode.nameOf(code.number()), code.toString());
        assertEquals(code, ErrorCode.of(code.number()));
      }
    }
    assertEquals("unknown", ErrorCode.nameOf(ErrorCode.UNKNOWN.ordinal()));
    assertEquals(ErrorCode.UNKNOWN, ErrorCode.of(36));
    assertEquals(ErrorCode.UNKNOWN, ErrorCode.of(-1));
  }

  @Test
  void aLibraryOfAnotherMajorOrASmallerMinorIsRefusedInWords() {
    assertNull(Library.refusal(C.ABI_MAJOR << 16 | C.ABI_MINOR));
    assertNull(Library.refusal(C.ABI_MAJOR << 16 | C.ABI_MINOR + 1));
    assertTrue(Library.refusal(C.ABI_MAJOR + 1 << 16 | 0).contains("ABI 2.0"));
    assertTrue(Library.refusal((C.ABI_MAJOR - 1) << 16 | 99).contains("needs 1."));
  }

  @Test
  void aLibraryThatIsMissingIsSaidWithItsPath() {
    var error = assertThrows(UnsatisfiedLinkError.class, () -> Library.load("nowhere/liblapwing.so.1"));
    assertTrue(error.getMessage().contains("LAPWING_LIBRARY names nowhere/liblapwing.so.1"),
        error.getMessage());
  }

  @Test
  void timeoutsAreNanosecondsAndForeverIsWithoutEnd() {
    assertEquals(0, Lapwing.nanos(Lapwing.NOW));
    assertEquals(-1, Lapwing.nanos(Lapwing.FOREVER));
    assertEquals(1_500_000_000L, Lapwing.nanos(Duration.ofMillis(1500)));
    assertEquals(-1, Lapwing.nanos(Duration.ofDays(365 * 300)));
    assertEquals(ErrorCode.INVALID_ARGUMENT, assertThrows(LapwingException.class,
        () -> Lapwing.nanos(Duration.ofNanos(-1))).code());
  }

  @Test
  void aTextWithAZeroInItIsRefused() {
    assertEquals(ErrorCode.INVALID_ARGUMENT,
        assertThrows(LapwingException.class, () -> Schema.of("dbn.mbo\0")).code());
  }

  @Test
  void anErrorHasItsNumberItsNameAndItsWords() {
    var e = assertThrows(LapwingException.class, () -> Schema.of("none.such"));
    assertEquals(ErrorCode.NOT_FOUND, e.code());
    assertEquals(24, e.number());
    assertEquals("not-found", e.name());
    assertTrue(e.getMessage().contains("none.such"), e.getMessage());
  }
}
