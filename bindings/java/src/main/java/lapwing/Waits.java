package lapwing;

import java.util.function.LongToIntFunction;

/**
 * Waits in slices. When a program ends, as by Ctrl-C, the virtual machine waits for threads that are in
 * native code, up to 0.3 s; one that comes back in between is held at once. So no wait stays there
 * longer than a slice. Only for calls that have done nothing where their timeout passed.
 *
 * <pre>
 * int result = C.wait(handle, Waits.first(timeoutNs), error);
 * if (Waits.goesOn(result, timeoutNs)) {
 *   result = Waits.rest(timeoutNs, slice -> C.wait(handle, slice, error));
 * }
 * </pre>
 */
final class Waits {
  private static final long SLICE_NS = 25_000_000;

  private Waits() {}

  private static boolean isLong(long timeoutNs) {
    return timeoutNs < 0 || timeoutNs > SLICE_NS;
  }

  /** How long the first call waits. */
  static long first(long timeoutNs) {
    return isLong(timeoutNs) ? SLICE_NS : timeoutNs;
  }

  /** Whether the first call has ended without the timeout having passed. */
  static boolean goesOn(int result, long timeoutNs) {
    return result == C.ERROR_TIMED_OUT && isLong(timeoutNs);
  }

  /** Calls again until something else than a timeout is the result, or the rest of it has passed. */
  static int rest(long timeoutNs, LongToIntFunction call) {
    long began = System.nanoTime();
    for (;;) {
      long left = timeoutNs < 0
          ? SLICE_NS : timeoutNs - SLICE_NS - (System.nanoTime() - began);
      int result = call.applyAsInt(Math.max(1, Math.min(left, SLICE_NS)));
      if (result != C.ERROR_TIMED_OUT || (timeoutNs >= 0 && left <= SLICE_NS)) {
        return result;
      }
    }
  }
}
