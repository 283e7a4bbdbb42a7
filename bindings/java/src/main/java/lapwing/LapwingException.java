package lapwing;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * The failure of a Lapwing call. The message contains what happened, where, and what to do next.
 */
public final class LapwingException extends RuntimeException {
  private static final long serialVersionUID = 1;

  private final int number;
  private final int errno;
  private final long progress;

  LapwingException(ErrorCode code, String message) {
    super(message);
    this.number = code.number();
    this.errno = 0;
    this.progress = 0;
  }

  private LapwingException(int number, int errno, String message, long progress) {
    super(message);
    this.number = number;
    this.errno = errno;
    this.progress = progress;
  }

  /** The error code, for a switch. */
  public ErrorCode code() {
    return ErrorCode.of(number);
  }

  /** The number of the error in C. */
  public int number() {
    return number;
  }

  /** The name of the error, such as "timed-out". */
  public String name() {
    return ErrorCode.nameOf(number);
  }

  /** The errno of the system call that failed; 0: none did. */
  public int errno() {
    return errno;
  }

  /**
   * The progress of the call before it failed. After {@code publish}: the sequence of the last
   * record that was published. After {@code flush}: the last durable sequence. After {@code send}:
   * the number of messages that were sent. 0: none.
   */
  public long progress() {
    return progress;
  }

  // ---- for this package -------------------------------------------------------------------------

  /** Allocates memory for the error of one call at a time. */
  static MemorySegment memory(Arena arena) {
    return Text.struct(arena, C.error.SIZE);
  }

  static void check(int result, MemorySegment error) {
    if (result != C.OK) {
      throw of(result, error, 0);
    }
  }

  /** Returns false if the wait ended at its timeout without a result. Throws any other failure. */
  static boolean came(int result, long timeoutNs, MemorySegment error) {
    if (result == C.OK) {
      return true;
    }
    if (result == (timeoutNs == 0 ? C.ERROR_WOULD_BLOCK : C.ERROR_TIMED_OUT)) {
      return false;
    }
    throw of(result, error, 0);
  }

  /** Returns the exception of a call without a message. */
  static LapwingException of(int result) {
    return new LapwingException(result, 0, ErrorCode.nameOf(result), 0);
  }

  static LapwingException of(int result, MemorySegment error, long progress) {
    boolean hasWords = error.get(ValueLayout.JAVA_INT, C.error.code) == result;
    String message = hasWords ? error.getString(C.error.message) : "";
    if (message.isEmpty() && result == C.ERROR_INTERRUPTED) {
      message = Waits.INTERRUPTED; // Waits.rest() returned this result
    }
    return new LapwingException(result,
        hasWords ? error.get(ValueLayout.JAVA_INT, C.error.sys_errno) : 0,
        message.isEmpty() ? ErrorCode.nameOf(result) : message, progress);
  }
}
