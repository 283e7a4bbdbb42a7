package lapwing;

/** How a call waits. */
public enum WaitMode {
  /** Spins; needs its own core. */
  BUSY(C.WAIT_BUSY),
  /** Spins for a while, then yields, then sleeps. */
  BACKOFF(C.WAIT_BACKOFF),
  /** Sleeps at once. */
  PARK(C.WAIT_PARK);

  final int number;

  WaitMode(int number) {
    this.number = number;
  }
}
