package lapwing.coroutines

import java.util.Collections
import java.util.WeakHashMap
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.coroutineScope
import lapwing.ErrorCode
import lapwing.LapwingException

/**
 * Runs a call that waits, of the object [owner], on a thread of [Dispatchers.IO]. A coroutine that is
 * cancelled interrupts the wait, and goes on when it has ended: after that the object is free.
 */
internal suspend fun <T> waiting(owner: Any, interrupt: () -> Unit, call: () -> T): T =
    coroutineScope {
        val wait = Wait(owner, interrupt)
        // A Result: the failure of an interrupted wait must not take the place of the cancelling.
        val result = async(Dispatchers.IO) { wait.during(call) }
        try {
            result.await().getOrThrow()
        } catch (e: CancellationException) {
            wait.cancel()
            throw e
        }
    }

/** A wait of the library, which another thread may cancel. */
internal class Wait(private val owner: Any, private val interrupt: () -> Unit) {
    private var isUnderWay = false
    private var isCancelled = false
    private var wasInterrupted = false

    fun <T> during(call: () -> T): Result<T> {
        synchronized(this) {
            if (isCancelled) return Result.failure(CancellationException("cancelled before the wait"))
            isUnderWay = true
        }
        var result = runCatching(call)
        while (result.isInterrupted() && interruptsLeft.remove(owner) != null && !isOver()) {
            result = runCatching(call) // that interrupt was of an earlier wait
        }
        synchronized(this) {
            isUnderWay = false
            if (wasInterrupted && !result.isInterrupted()) interruptsLeft[owner] = Unit
        }
        return result
    }

    /** Its own interrupt may have met the earlier one: two of them end one wait. */
    private fun isOver(): Boolean = synchronized(this) { isCancelled }

    /** An interrupt before the wait, or after it, would end the next one. */
    fun cancel() = synchronized(this) {
        isCancelled = true
        if (isUnderWay) {
            wasInterrupted = true
            interrupt()
        }
    }
}

/** Objects with an interrupt that came when the wait it was for had just ended. */
private val interruptsLeft: MutableMap<Any, Unit> = Collections.synchronizedMap(WeakHashMap())

private fun Result<*>.isInterrupted(): Boolean =
    (exceptionOrNull() as? LapwingException)?.code() == ErrorCode.INTERRUPTED
