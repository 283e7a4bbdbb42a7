package lapwing;

import java.util.ArrayList;
import java.util.List;

/**
 * Keeps calls of a wait set and calls of its sources apart: in C, a call of the set uses all of them.
 *
 * <p>Invariants, behind the monitor:
 * <ol>
 *   <li>A call of a source is under way only while the gate is open: `calls` counts them.
 *   <li>A call of the set is under way only while the gate is closed, and then `calls` is 0.
 *   <li>A source is destroyed while the gate is open, or when it opens again. The set is destroyed
 *       while no call uses it, and so while the gate is open.
 * </ol>
 */
final class Gate {
  private final List<Runnable> destructions = new ArrayList<>();
  private boolean isClosed;
  private boolean isOver;
  private int calls;

  /** Before a call of a source. False: a call of the set is under way. */
  synchronized boolean enter() {
    if (isClosed) {
      return false;
    }
    calls++;
    return true;
  }

  synchronized void exit() {
    calls--;
  }

  /** Before a call of the set, one at a time. */
  synchronized void close() {
    if (calls > 0) {
      throw new LapwingException(ErrorCode.MISUSE, "the wait set cannot be used: another thread is"
          + " within a call of one of its sources. Use a set and its sources in one thread.");
    }
    isClosed = true;
  }

  synchronized void open() {
    isClosed = false;
    destructions.forEach(Runnable::run);
    destructions.clear();
  }

  /** Destroys the set, which no call uses: its sources are in none then. */
  synchronized void end(Runnable destruction) {
    isOver = true;
    destruction.run();
  }

  synchronized boolean isOver() {
    return isOver;
  }

  /** Destroys a source. */
  synchronized void destroy(Runnable destruction) {
    if (isClosed) {
      destructions.add(destruction);
    } else {
      destruction.run();
    }
  }
}
