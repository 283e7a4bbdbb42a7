package lapwing;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** A call of Lapwing that failed. The message says what happened, where, and what to do next. */
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

  /** The reason, to switch on. */
  public ErrorCode code() {
    return ErrorCode.of(number);
  }

  /** The reason's number in C. */
  public int number() {
    return number;
  }

  /** The reason's name: "timed-out". */
  public String name() {
    return ErrorCode.nameOf(number);
  }

  /** Error number of the system call that failed; 0: none did. */
  public int errno() {
    return errno;
  }

  /**
   * How far the call came: of {@code publish} the sequence of the last record that was published, of
   * {@code flush} the last durable one, of {@code send} how many messages were sent. 0: nothing.
   */
  public long progress() {
    return progress;
  }

  // ---- how the package makes them ---------------------------------------------------------------

  /** Memory for the error of one call at a time. */
  static MemorySegment memory(Arena arena) {
    return Text.struct(arena, C.error.SIZE);
  }

  static void check(int result, MemorySegment error) {
    if (result != C.OK) {
      throw of(result, error, 0);
    }
  }

  /** False: the wait ended with nothing, as its timeout wants. Any other failure is thrown. */
  static boolean came(int result, long timeoutNs, MemorySegment error) {
    if (result == C.OK) {
      return true;
    }
    if (result == (timeoutNs == 0 ? C.ERROR_WOULD_BLOCK : C.ERROR_TIMED_OUT)) {
      return false;
    }
    throw of(result, error, 0);
  }

  /** The exception of a call without a message. */
  static LapwingException of(int result) {
    return new LapwingException(result, 0, ErrorCode.nameOf(result), 0);
  }

  static LapwingException of(int result, MemorySegment error, long progress) {
    boolean hasWords = error.get(ValueLayout.JAVA_INT, C.error.code) == result;
    String message = hasWords ? error.getString(C.error.message) : "";
    if (message.isEmpty() && result == C.ERROR_INTERRUPTED) {
      message = Waits.INTERRUPTED; // Waits.rest() has noticed it
    }
    return new LapwingException(result,
        hasWords ? error.get(ValueLayout.JAVA_INT, C.error.sys_errno) : 0,
        message.isEmpty() ? ErrorCode.nameOf(result) : message, progress);
  }
}
