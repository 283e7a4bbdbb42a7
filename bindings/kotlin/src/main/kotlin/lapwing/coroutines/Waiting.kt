package lapwing.coroutines

import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.runInterruptible
import lapwing.ErrorCode
import lapwing.LapwingException

/**
 * Runs a call that waits on a thread of [Dispatchers.IO]. A coroutine that is cancelled interrupts the
 * thread, and continues when the wait has ended: after that the object is free.
 */
internal suspend fun <T> waiting(call: () -> T): T =
    runInterruptible(Dispatchers.IO) {
        try {
            call()
        } catch (e: LapwingException) {
            // The thread was interrupted, not the object by interrupt(): the coroutine is cancelled.
            if (e.code() == ErrorCode.INTERRUPTED && Thread.interrupted()) {
                throw InterruptedException(e.message)
            }
            throw e
        }
    }
