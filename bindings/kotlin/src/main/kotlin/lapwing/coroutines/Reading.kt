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
 * Returns all items of the bus in order. Each is read into the same [batch]. The flow ends with a
 * clean close of the bus (`endAtClose`). Cancelling ends the wait, but does not close the
 * subscriber.
 *
 * Rows are valid until the collector requests the next item. Call `copy()` before a `buffer`, a
 * `flowOn` or another operator that runs ahead of the collector.
 *
 * If an item is available, the flow does not change threads. Only waits run on `Dispatchers.IO`.
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
 * Reads rows or one event into the batch; null: nothing arrived in that time. Like
 * [Subscriber.read], but suspends instead of blocking. A cancelled coroutine loses the records of
 * its last read: resume from the position of the last processed record.
 */
public suspend fun Subscriber.awaitItem(
    batch: Batch,
    timeout: Duration = Duration.INFINITE,
): Item? {
    val item = read(batch, Lapwing.NOW)
    if (item != null || timeout == Duration.ZERO) return item
    return waiting { read(batch, timeout.toJavaDuration()) }
}

/**
 * Returns the next ready source, or null if none becomes ready within the timeout. Like
 * [WaitSet.await], but suspends.
 */
public suspend fun <T> WaitSet<T>.awaitReady(
    timeout: Duration = Duration.INFINITE
): WaitSet.Source<T>? {
    val ready = await(Lapwing.NOW)
    if (ready != null || timeout == Duration.ZERO) return ready
    return waiting { await(timeout.toJavaDuration()) }
}

/** The default number of rows in a batch. */
public const val DEFAULT_ROWS: Int = 4096
