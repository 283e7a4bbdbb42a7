package lapwing;

import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.spi.AbstractInterruptibleChannel;
import java.util.function.IntSupplier;

/**
 * Lets {@link Thread#interrupt()} end one C call. When a thread is interrupted, the JDK notifies
 * the object on which the thread is blocked. This class is how a program outside the JDK can be
 * such an object.
 */
final class Interruption extends AbstractInterruptibleChannel {
  private final Runnable interrupt;
  private boolean isOver; // these two are guarded by the monitor
  private boolean hasFired;

  Interruption(Runnable interrupt) {
    this.interrupt = interrupt;
  }

  /**
   * Makes the call. Can be used only once. After it returns, an interrupt does not affect the
   * object.
   */
  int during(IntSupplier call) {
    begin();
    try {
      return call.getAsInt();
    } finally {
      stop();
      try {
        end(true);
      } catch (AsynchronousCloseException e) {
        // The thread stays interrupted. The result of the call contains the rest.
      }
    }
  }

  private synchronized void stop() {
    isOver = true;
  }

  /** Returns whether the thread was interrupted during the call. */
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
