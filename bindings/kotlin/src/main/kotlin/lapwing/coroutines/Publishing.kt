package lapwing.coroutines

import java.lang.foreign.MemorySegment
import kotlin.time.Duration
import kotlin.time.toJavaDuration
import lapwing.Publisher

/**
 * Publishes records, end to end, and returns the sequence of the last one. Suspends while the
 * journal is a whole ring behind. On failure, [lapwing.LapwingException.progress] is the last
 * published sequence.
 */
public suspend fun Publisher.awaitPublish(
    rows: MemorySegment,
    timeout: Duration = Duration.INFINITE,
): Long = waiting { publish(rows, timeout.toJavaDuration()) }

/** Suspends until everything published is durable. Returns the last durable sequence. */
public suspend fun Publisher.awaitFlush(timeout: Duration = Duration.INFINITE): Long =
    waiting { flush(timeout.toJavaDuration()) }

/** Ends the session, and suspends until the end is durable. */
public suspend fun Publisher.awaitEnd(timeout: Duration = Duration.INFINITE): Unit =
    waiting { end(timeout.toJavaDuration()) }
