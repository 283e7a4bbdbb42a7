package lapwing;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.function.IntSupplier;
import java.util.function.LongToIntFunction;

/**
 * Waits in slices. No call stays in native code longer than a slice, for three reasons:
 * <ul>
 *   <li>A program that ends, for example by Ctrl-C, waits up to 0.3 s for threads in native code.
 *   <li>{@link Thread#interrupt()} does not reach native code. It is checked between two slices.
 *   <li>Native code pins a virtual thread. Between two slices, another one can use the carrier.
 * </ul>
 * Use this only for calls that have no effect if their timeout passes. For other calls, use
 * {@link Handle#interruptibly}.
 *
 * <pre>
 * int result = C.wait(pointer, Waits.first(timeoutNs), error);
 * if (Waits.goesOn(this, result, timeoutNs)) {
 *   result = Waits.rest(this, timeoutNs, slice -> C.wait(pointer, slice, error));
 * }
 * </pre>
 */
final class Waits {
  static final String INTERRUPTED = "the wait has ended: its thread was interrupted, and still is."
      + " Call Thread.interrupted() before the next wait.";

  private static final long SLICE_NS = 25_000_000;
  private static final long ATTEMPTS_APART_MS = 5;

  private Waits() {}

  private static boolean isLong(long timeoutNs) {
    return timeoutNs < 0 || timeoutNs > SLICE_NS;
  }

  /** Throws if the call may wait and the thread is interrupted. */
  static void begin(long timeoutNs) {
    if (timeoutNs != 0 && Thread.currentThread().isInterrupted()) {
      throw interrupted();
    }
  }

  /** Returns how long the first call waits. */
  static long first(long timeoutNs) {
    begin(timeoutNs);
    return isLong(timeoutNs) ? SLICE_NS : timeoutNs;
  }

  /**
   * Returns whether the first call on the handle ended before the timeout and must be continued.
   */
  static boolean goesOn(Handle handle, int result, long timeoutNs) {
    return result == C.ERROR_TIMED_OUT ? isLong(timeoutNs) : handle.isStray(result);
  }

  /**
   * Repeats the call until the result is not a timeout, the rest of the timeout has passed, or the
   * thread is interrupted. In the last case it returns ERROR_INTERRUPTED, without a message in the
   * C error.
   */
  static int rest(Handle handle, long timeoutNs, LongToIntFunction call) {
    long began = System.nanoTime();
    boolean isVirtual = Thread.currentThread().isVirtual();
    for (;;) {
      if (Thread.currentThread().isInterrupted()) {
        return C.ERROR_INTERRUPTED;
      }
      if (isVirtual) {
        Thread.yield();
      }
      long left = timeoutNs < 0
          ? SLICE_NS : timeoutNs - SLICE_NS - (System.nanoTime() - began);
      int result = call.applyAsInt(Math.max(1, Math.min(left, SLICE_NS)));
      boolean isOver = timeoutNs >= 0 && left <= SLICE_NS;
      if (result != C.ERROR_TIMED_OUT && !handle.isStray(result) || isOver) {
        return result;
      }
    }
  }

  /**
   * Repeats an attempt that never waits, until the result is not in-use or the timeout has passed.
   * This waits for another process like the library, but without keeping the thread in native code.
   */
  static int whileInUse(long timeoutNs, IntSupplier attempt) {
    begin(timeoutNs);
    long began = System.nanoTime();
    for (;;) {
      int result = attempt.getAsInt();
      boolean isOver = timeoutNs >= 0 && System.nanoTime() - began >= timeoutNs;
      if (result != C.ERROR_IN_USE || isOver) {
        return result;
      }
      try {
        Thread.sleep(ATTEMPTS_APART_MS);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw interrupted();
      }
    }
  }

  /** A C call that creates an object and cannot be interrupted. */
  interface Opening {
    /** Writes the object to `opened`. */
    int open(Arena arena, MemorySegment opened, MemorySegment error);
  }

  /**
   * Runs a call on a separate thread, so that this thread's wait can end early. If the object is
   * created after that, it is destroyed. Arguments are in the arena's memory.
   */
  static MemorySegment inOwnThread(Opening opening, Handle.Function destroy) {
    begin(C.FOREVER);
    Arena arena = Arena.ofAuto();
    MemorySegment error = LapwingException.memory(arena);
    MemorySegment opened = arena.allocate(ValueLayout.ADDRESS);
    var result = new CompletableFuture<Integer>();
    Thread.ofPlatform().daemon().name("lapwing-connect").start(() -> {
      try {
        result.complete(opening.open(arena, opened, error));
      } catch (Throwable e) {
        result.completeExceptionally(e);
      }
    });
    try {
      LapwingException.check(result.get(), error);
      return opened.get(ValueLayout.ADDRESS, 0);
    } catch (InterruptedException e) {
      result.thenAccept(late -> {
        if (late == C.OK) {
          destroy.call(opened);
        }
      });
      Thread.currentThread().interrupt();
      throw interrupted();
    } catch (ExecutionException e) {
      throw Library.unexpected(e.getCause());
    }
  }

  static LapwingException interrupted() {
    return new LapwingException(ErrorCode.INTERRUPTED, INTERRUPTED);
  }
}
