package lapwing;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Memory of a channel that a thread has borrowed, until that thread releases it: the arena of its
 * segments. While the lease exists, the channel is neither destroyed nor garbage-collected.
 */
final class Lease {
  private final Handle owner;
  private Arena arena; // null: no memory is borrowed
  private Thread borrower;

  Lease(Handle owner) {
    this.owner = owner;
  }

  MemorySegment lend(MemorySegment address, long bytes) {
    if (arena == null) {
      owner.lend();
      arena = Arena.ofConfined();
      borrower = Thread.currentThread();
      MemorySegment.NULL.reinterpret(0, arena, nothing -> owner.takeBack());
    }
    return address.reinterpret(bytes, arena, null);
  }

  /** Ends the segments of the lease. If this throws, none has ended. */
  void end() {
    if (arena == null) {
      return;
    }
    if (borrower != Thread.currentThread()) {
      if (!borrower.isAlive()) { // so no code can use its segments
        arena = null;
        owner.takeBack();
        return;
      }
      throw new LapwingException(ErrorCode.MISUSE, "the memory was borrowed by the thread '"
          + borrower.getName() + "', which must give it back itself");
    }
    try {
      arena.close();
    } catch (IllegalStateException e) {
      throw new LapwingException(ErrorCode.MISUSE,
          "a view of the memory is in use by another operation; give it back when that has ended");
    }
    arena = null;
  }

  /**
   * Ends the lease if this thread holds it. Otherwise it ends with a call on its own thread.
   */
  void endIfMine() {
    if (borrower == Thread.currentThread()) {
      end();
    }
  }
}
