package lapwing.coroutines

import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.runInterruptible
import lapwing.ErrorCode
import lapwing.LapwingException

/**
 * Runs a waiting call on a thread of [Dispatchers.IO]. If the coroutine is cancelled, the thread is
 * interrupted, and the coroutine continues once the wait has ended. No call uses the object then.
 */
internal suspend fun <T> waiting(call: () -> T): T =
    runInterruptible(Dispatchers.IO) {
        try {
            call()
        } catch (e: LapwingException) {
            // The thread was interrupted, not the object, so the coroutine is cancelled.
            if (e.code() == ErrorCode.INTERRUPTED && Thread.interrupted()) {
                throw InterruptedException(e.message)
            }
            throw e
        }
    }
