package lapwing.coroutines

import kotlin.time.Duration
import kotlin.time.toJavaDuration
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.flow
import lapwing.Batch
import lapwing.ErrorCode
import lapwing.Item
import lapwing.Lapwing
import lapwing.LapwingException
import lapwing.Subscriber
import lapwing.WaitSet

/**
 * Every item of the bus, in order, each read into the same [batch]. Ends with a clean close of the bus
 * (`endAtClose`). Cancelling ends the wait; closing the subscriber stays the program's.
 *
 * Rows lie in the batch until the collector asks for the next item: `copy()` them before a `buffer`,
 * a `flowOn` or whatever else runs ahead of the collector.
 *
 * While there is something to read nothing changes threads. Only a wait goes to `Dispatchers.IO`.
 */
public fun Subscriber.asFlow(batch: Batch = Batch(DEFAULT_ROWS)): Flow<Item> = flow {
    while (true) {
        val item =
            try {
                awaitItem(batch)
            } catch (e: LapwingException) {
                if (e.code() == ErrorCode.CLOSED) return@flow
                throw e
            }
        emit(item!!)
    }
}

/**
 * Rows or one event, into the batch; null: nothing came in that time. As [Subscriber.read], and
 * suspends instead of blocking. A cancelled coroutine loses the records of its last read: continue
 * from the position that was processed.
 */
public suspend fun Subscriber.awaitItem(
    batch: Batch,
    timeout: Duration = Duration.INFINITE,
): Item? {
    val item = read(batch, Lapwing.NOW)
    if (item != null || timeout == Duration.ZERO) return item
    return waiting { read(batch, timeout.toJavaDuration()) }
}

/** The next source that is ready; null: none was in that time. As [WaitSet.await], and suspends. */
public suspend fun <T> WaitSet<T>.awaitReady(
    timeout: Duration = Duration.INFINITE
): WaitSet.Source<T>? {
    val ready = await(Lapwing.NOW)
    if (ready != null || timeout == Duration.ZERO) return ready
    return waiting { await(timeout.toJavaDuration()) }
}

/** The default number of rows in a batch. */
public const val DEFAULT_ROWS: Int = 4096
