package lapwing;

import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.spi.AbstractInterruptibleChannel;
import java.util.function.IntSupplier;

/**
 * Lets {@link Thread#interrupt()} end one call of C. The JDK calls what a thread is blocked on when the
 * thread is interrupted; this is how a program outside of the JDK gets there.
 */
final class Interruption extends AbstractInterruptibleChannel {
  private final Runnable interrupt;
  private boolean isOver; // these two behind the monitor
  private boolean hasFired;

  Interruption(Runnable interrupt) {
    this.interrupt = interrupt;
  }

  /** Once. After it nothing fires any more. */
  int during(IntSupplier call) {
    begin();
    try {
      return call.getAsInt();
    } finally {
      stop();
      try {
        end(true);
      } catch (AsynchronousCloseException e) {
        // The thread was interrupted, and stays so: the result of the call says the rest.
      }
    }
  }

  private synchronized void stop() {
    isOver = true;
  }

  /** Whether the thread was interrupted, and the call with it. */
  synchronized boolean hasFired() {
    return hasFired;
  }

  @Override
  protected synchronized void implCloseChannel() {
    if (!isOver) {
      hasFired = true;
      interrupt.run();
    }
  }
}
