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
 * The base of the classes that own a library object.
 *
 * <p>Invariants of the word {@code use}:
 * <ol>
 *   <li>BUSY is set from enter() to exit(), by one thread, so calls do not overlap.
 *   <li>LENT is set while the program has borrowed memory from the object: a {@link Lease}.
 *   <li>CLOSED is set once, by close() or the cleaner, and is never cleared.
 *   <li>The object is destroyed once, when it is CLOSED and neither BUSY nor LENT: by close(), or
 *       or at the end of the call or the lease. So close() never waits, and the object outlives its
 *       calls and leases.
 * </ol>
 * An interrupt may overlap other calls. The monitor of the state prevents it from overlapping the
 * destruction.
 *
 * <p>A source of a wait set also passes the {@link Gate} of the set: each call between enter() and
 * exit(), and the destruction.
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

  /** A C function that takes the object, or the address where it is stored. */
  interface Function {
    void call(MemorySegment pointer);
  }

  private final State state;
  private final Cleaner.Cleanable cleanable;

  private Gate passed; // these three are used within a call; null: no gate
  private boolean hasStray; // see interruptibly()
  private int interruptsAtStray;

  /** The error of the current call. */
  final MemorySegment error = LapwingException.memory(Arena.ofAuto());

  /** The results of the current call: a C function writes one or two values. */
  final MemorySegment out = Arena.ofAuto().allocate(32, 8);

  /** `interrupt` is null for an object that never waits. */
  Handle(String what, MemorySegment pointer, Function interrupt, Function destroy) {
    state = new State(what, pointer, interrupt, destroy);
    cleanable = CLEANER.register(this, state);
  }

  /** Begins a call. Call exit() afterwards in any case. */
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
    Reference.reachabilityFence(this); // keeps its memory alive: C may have only the address
  }

  /**
   * Sets the gate of the wait set that the object is in; null: no set. Call it only within a call.
   */
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

  /** Marks the object's memory as borrowed. MISUSE: it is closed, and its memory may be freed. */
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
   * Makes a C call that cannot be split into slices. Interrupting the thread ends it, as
   * interrupt() does. If the call ends at the same moment, the interrupt stays pending in the
   * library. Such a stray interrupt must not end the next wait.
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

  /** Returns, and forgets, whether only a stray interrupt ended a wait. */
  final boolean isStray(int result) {
    if (result != C.ERROR_INTERRUPTED || !hasStray) {
      return false;
    }
    hasStray = false;
    return interruptsAtStray == state.interrupts; // the program has not called interrupt() since
  }

  final boolean isClosed() {
    return (state.use & CLOSED) != 0;
  }

  /**
   * Frees everything at once, from any thread. A wait in progress on another thread ends with
   * {@link ErrorCode#INTERRUPTED}, and its memory is freed once it has ended. Memory that another
   * thread has borrowed is freed when that thread releases it. Idempotent.
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

  /**
   * The library's object, and the data that the cleaner needs. It has no reference to the Handle.
   */
  private static final class State implements Runnable {
    final String what;
    final MemorySegment pointer;
    final Function interrupt;
    final Function destroy;
    volatile int use;
    volatile int interrupts; // calls of interrupt() by the program
    volatile Gate gate; // null: the object is in no wait set
    private boolean isDestroyed; // guarded by the monitor

    State(String what, MemorySegment pointer, Function interrupt, Function destroy) {
      this.what = what;
      this.pointer = pointer;
      this.interrupt = interrupt;
      this.destroy = destroy;
    }

    /**
     * Called by the cleaner when the object and its borrowed memory are unreachable, or by close(),
     * which then no longer needs the cleaner.
     */
    @Override
    public void run() {
      int before = (int) USE.getAndBitwiseOr(this, CLOSED);
      if ((before & BUSY) == 0) {
        destroy();
      } else {
        clear(LENT);
      }
      if ((before & CLOSED) == 0) { // after the destruction, because the program's logger may throw
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
