package lapwing;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Memory of a channel that is lent to the thread that asked for it, until that thread gives it back: the
 * arena of its segments. It keeps the channel from being destroyed, and from being collected.
 */
final class Lease {
  private final Handle owner;
  private Arena arena; // null: nothing is lent
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

  /** Its segments end. Nothing has ended where this throws. */
  void end() {
    if (arena == null) {
      return;
    }
    if (borrower != Thread.currentThread()) {
      if (!borrower.isAlive()) { // so nothing can use its segments
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

  /** Before a close: ends what this thread may end. The rest ends with its own thread's call. */
  void endIfMine() {
    if (borrower == Thread.currentThread()) {
      end();
    }
  }
}
