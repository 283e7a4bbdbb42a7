package lapwing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.function.LongToIntFunction;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Tests long waits in slices. */
class WaitsTest {
  private static final long MS = 1_000_000;

  private final List<Long> slices = new ArrayList<>();
  private final Handle handle = new HandleTest.Counted();

  @AfterEach
  void close() {
    handle.close();
  }

  /** A call that waits for its whole timeout, and returns a result on the given call. */
  private LongToIntFunction something(int calls, int result) {
    return slice -> {
      slices.add(slice);
      if (slices.size() == calls) {
        return result;
      }
      long began = System.nanoTime();
      while (System.nanoTime() - began < slice) {
        Thread.onSpinWait();
      }
      return C.ERROR_TIMED_OUT;
    };
  }

  @Test
  void aShortWaitIsOneCall() {
    for (long timeoutNs : new long[] {0, 1, 20 * MS}) {
      assertEquals(timeoutNs, Waits.first(timeoutNs));
      assertFalse(Waits.goesOn(handle, C.ERROR_TIMED_OUT, timeoutNs));
    }
  }

  @Test
  void aLongWaitGoesOnAfterATimeoutAndAfterNothingElse() {
    for (long timeoutNs : new long[] {-1, 1_000 * MS}) {
      assertTrue(Waits.first(timeoutNs) > 0 && Waits.first(timeoutNs) <= 50 * MS);
      assertTrue(Waits.goesOn(handle, C.ERROR_TIMED_OUT, timeoutNs));
      for (int result : new int[] {C.OK, C.ERROR_INTERRUPTED, C.ERROR_EVENT_DUE, C.ERROR_WOULD_BLOCK}) {
        assertFalse(Waits.goesOn(handle, result, timeoutNs));
      }
    }
  }

  @Test
  void theRestEndsWithTheFirstOtherResult() {
    assertEquals(C.ERROR_INTERRUPTED, Waits.rest(handle, -1, something(3, C.ERROR_INTERRUPTED)));
    assertEquals(3, slices.size());
    slices.clear();
    assertEquals(C.OK, Waits.rest(handle, 60_000 * MS, something(2, C.OK)));
    assertEquals(2, slices.size());
  }

  @Test
  void theRestWaitsForTheWholeTimeoutAndNoLonger() {
    assertEquals(C.ERROR_TIMED_OUT, Waits.rest(handle, 110 * MS, something(1_000_000, C.OK)));
    long first = Waits.first(-1);
    long asked = first;
    for (long slice : slices) {
      assertTrue(slice > 0 && slice <= first, slices.toString());
      asked += slice;
    }
    assertTrue(asked <= 110 * MS, slices.toString());
  }

  @Test
  void anAttemptIsRepeatedWhileItIsInUseAndTheTimeoutHasNotPassed() {
    int[] attempts = {0};
    assertEquals(C.OK, Waits.whileInUse(-1, () -> ++attempts[0] < 3 ? C.ERROR_IN_USE : C.OK));
    assertEquals(3, attempts[0]);
    assertEquals(C.ERROR_IN_USE, Waits.whileInUse(0, () -> {
      attempts[0]++;
      return C.ERROR_IN_USE;
    }));
    assertEquals(4, attempts[0]);
    long began = System.nanoTime();
    assertEquals(C.ERROR_IN_USE, Waits.whileInUse(30 * MS, () -> C.ERROR_IN_USE));
    assertTrue(System.nanoTime() - began >= 30 * MS);
  }
}
