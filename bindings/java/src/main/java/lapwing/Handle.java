package lapwing;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.util.function.IntSupplier;

/**
 * An object of the library, as the classes of this package hold it.
 *
 * <p>Invariants, of the word {@code use}:
 * <ol>
 *   <li>BUSY is set from enter() to exit(), by one thread: no two calls overlap.
 *   <li>LENT is set while the program holds memory of the object: a {@link Lease}.
 *   <li>CLOSED is set once, by close() or the cleaner, and stays.
 *   <li>The object is destroyed once, when it is CLOSED and neither BUSY nor LENT: by close(), or by
 *       the end of the call or of the lease. So nothing waits, and no call and no lease loses it.
 * </ol>
 * An interrupt is a call beside others. The monitor of the state keeps it apart from the destruction.
 *
 * <p>A source of a wait set also passes the {@link Gate} of the set: each call between enter() and exit(),
 * and the destruction.
 */
abstract class Handle implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger("lapwing");
  private static final Cleaner CLEANER = Cleaner.create();
  private static final VarHandle USE;

  private static final int IDLE = 0;
  private static final int BUSY = 1;
  private static final int CLOSED = 2;
  private static final int LENT = 4;

  static {
    try {
      USE = MethodHandles.lookup().findVarHandle(State.class, "use", int.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  /** A function of C that takes the object, or where it is stored. */
  interface Function {
    void call(MemorySegment pointer);
  }

  private final State state;
  private final Cleaner.Cleanable cleanable;

  private Gate passed; // these three within a call; null: none
  private boolean hasStray; // see interruptibly()
  private int interruptsAtStray;

  /** Error of the call under way. */
  final MemorySegment error = LapwingException.memory(Arena.ofAuto());

  /** Results of the call under way: a function of C writes one or two words. */
  final MemorySegment out = Arena.ofAuto().allocate(32, 8);

  /** `interrupt` is null for an object that never waits. */
  Handle(String what, MemorySegment pointer, Function interrupt, Function destroy) {
    state = new State(what, pointer, interrupt, destroy);
    cleanable = CLEANER.register(this, state);
  }

  /** Begins a call. An exit() follows, whatever happens. */
  final MemorySegment enter() {
    if (!USE.compareAndSet(state, IDLE, BUSY)) {
      enterLent();
    }
    Gate gate = state.gate;
    if (gate != null) {
      pass(gate);
    }
    return state.pointer;
  }

  private void pass(Gate gate) {
    if (!gate.enter()) {
      leave();
      throw new LapwingException(ErrorCode.MISUSE, "this " + state.what
          + " cannot be used: another thread is within a call of its wait set. Use a set and its"
          + " sources in one thread.");
    }
    passed = gate;
  }

  private void enterLent() {
    int before;
    do {
      before = state.use;
      if ((before & (BUSY | CLOSED)) != 0) {
        throw state.refusal();
      }
    } while (!USE.compareAndSet(state, before, before | BUSY));
  }

  final void exit() {
    Gate gate = passed;
    if (gate != null) {
      passed = null;
      gate.exit();
    }
    leave();
  }

  private void leave() {
    if (!USE.compareAndSet(state, BUSY, IDLE)) {
      state.clear(BUSY);
    }
    Reference.reachabilityFence(this); // its memory, of which C may know only the address
  }

  /** Within a call: it is in a wait set now, or in none. */
  final void gate(Gate gate) {
    state.gate = gate;
  }

  final boolean isInSet() {
    Gate gate = state.gate;
    return gate != null && !gate.isOver();
  }

  final String what() {
    return state.what;
  }

  /** MISUSE: it is closed, so that its memory may be gone. */
  final void lend() {
    int before;
    do {
      before = state.use;
      if ((before & CLOSED) != 0) {
        throw state.refusal();
      }
    } while (!USE.compareAndSet(state, before, before | LENT));
  }

  final void takeBack() {
    state.clear(LENT);
  }

  final void interruptWait() {
    state.interruptAsAsked();
  }

  /**
   * Makes a call of C that cannot be made in slices: an interrupt of the thread ends it as interrupt() does.
   * If the call ends in the same moment, the interrupt stays in the library. It is a stray one then,
   * and must not end the next wait.
   */
  final int interruptibly(IntSupplier call) {
    for (;;) {
      int interrupts = state.interrupts;
      var interruption = new Interruption(state::interrupt);
      int result = interruption.during(call);
      if (interruption.hasFired() && result != C.ERROR_INTERRUPTED) {
        hasStray = true;
        interruptsAtStray = interrupts;
      }
      if (!isStray(result)) {
        return result;
      }
    }
  }

  /** Whether a wait was ended by a stray interrupt alone; once. */
  final boolean isStray(int result) {
    if (result != C.ERROR_INTERRUPTED || !hasStray) {
      return false;
    }
    hasStray = false;
    return interruptsAtStray == state.interrupts; // the program asked for none since
  }

  final boolean isClosed() {
    return (state.use & CLOSED) != 0;
  }

  /**
   * Gives everything back, at once, from any thread. A wait that is under way in another thread ends
   * with {@link ErrorCode#INTERRUPTED}, and its memory is given back when it has ended. Memory
   * that another thread has borrowed is given back when that thread releases it. Idempotent.
   */
  @Override
  public void close() {
    int before = (int) USE.getAndBitwiseOr(state, CLOSED);
    if (before == IDLE) {
      state.destroy();
    } else if ((before & BUSY) != 0) {
      interruptWait();
    }
    if ((before & LENT) == 0) {
      cleanable.clean();
    }
  }

  /** The library's object, and what the cleaner needs of it. It knows no Handle. */
  private static final class State implements Runnable {
    final String what;
    final MemorySegment pointer;
    final Function interrupt;
    final Function destroy;
    volatile int use;
    volatile int interrupts; // that the program asked for
    volatile Gate gate; // null: it is in no wait set
    private boolean isDestroyed; // behind the monitor

    State(String what, MemorySegment pointer, Function interrupt, Function destroy) {
      this.what = what;
      this.pointer = pointer;
      this.interrupt = interrupt;
      this.destroy = destroy;
    }

    /**
     * The cleaner found it unreachable, and so is what was lent of it; or close() has no more need of
     * the cleaner.
     */
    @Override
    public void run() {
      int before = (int) USE.getAndBitwiseOr(this, CLOSED);
      if ((before & BUSY) == 0) {
        destroy();
      } else {
        clear(LENT);
      }
      if ((before & CLOSED) == 0) { // behind the destruction: the program's logger may throw
        LOG.log(System.Logger.Level.WARNING,
            "a {0} was not closed, and was freed by the garbage collector; use try-with-resources",
            what);
      }
    }

    void clear(int bit) {
      if (((int) USE.getAndBitwiseAnd(this, ~bit) & ~bit) == CLOSED) {
        destroy();
      }
    }

    synchronized void interruptAsAsked() {
      interrupts++;
      interrupt();
    }

    synchronized void interrupt() {
      if (!isDestroyed && interrupt != null) {
        interrupt.call(pointer);
      }
    }

    void destroy() {
      Gate of = gate;
      if (of == null) {
        destroyNow();
      } else {
        of.destroy(this::destroyNow);
      }
    }

    private synchronized void destroyNow() {
      if (isDestroyed) {
        return;
      }
      isDestroyed = true;
      try (Arena arena = Arena.ofConfined()) {
        destroy.call(arena.allocateFrom(ValueLayout.ADDRESS, pointer));
      }
    }

    LapwingException refusal() {
      return new LapwingException(ErrorCode.MISUSE, (use & CLOSED) != 0
          ? "this " + what + " is closed; open another one"
          : "another thread is within a call of this " + what
              + "; one thread at a time uses it");
    }
  }
}
