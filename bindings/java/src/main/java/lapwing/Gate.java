package lapwing;

import java.util.ArrayList;
import java.util.List;

/**
 * Prevents calls on a wait set from overlapping calls on its sources: in C, a call on the set uses
 * all sources.
 *
 * <p>Invariants, guarded by the monitor:
 * <ol>
 *   <li>A call on a source is in progress only while the gate is open. `calls` counts such calls.
 *   <li>A call on the set is in progress only while the gate is closed. `calls` is then 0.
 *   <li>A source is destroyed while the gate is open, or when it opens again. The set is destroyed
 *       while no call uses it, and therefore while the gate is open.
 * </ol>
 */
final class Gate {
  private final List<Runnable> destructions = new ArrayList<>();
  private boolean isClosed;
  private boolean isOver;
  private int calls;

  /** Begins a call on a source. Returns false if a call on the set is in progress. */
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

  /** Begins a call on the set. Calls on the set must not overlap. */
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

  /** Destroys the set, which no call uses. Its sources are then not in any set. */
  synchronized void end(Runnable destruction) {
    isOver = true;
    destruction.run();
  }

  synchronized boolean isOver() {
    return isOver;
  }

  /** Destroys a source, now or when the gate opens again. */
  synchronized void destroy(Runnable destruction) {
    if (isClosed) {
      destructions.add(destruction);
    } else {
      destruction.run();
    }
  }
}
