package lapwing.coroutines

import java.lang.foreign.MemorySegment
import kotlin.time.Duration
import kotlin.time.toJavaDuration
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.flow
import lapwing.ChannelOptions
import lapwing.Consumer
import lapwing.Duplex
import lapwing.ErrorCode
import lapwing.Lapwing
import lapwing.LapwingException
import lapwing.Listener
import lapwing.Message
import lapwing.Producer
import lapwing.Reply
import lapwing.Request

/** Serves the next peer. This side sends. null: none arrived in that time. */
public suspend fun Listener.awaitProducer(
    timeout: Duration = Duration.INFINITE,
    options: ChannelOptions.Builder.() -> Unit = {},
): Producer? =
    waiting { acceptProducer(built(options), timeout.toJavaDuration()) }

/** Serves the next peer. This side receives. null: none arrived in that time. */
public suspend fun Listener.awaitConsumer(
    timeout: Duration = Duration.INFINITE,
    options: ChannelOptions.Builder.() -> Unit = {},
): Consumer? =
    waiting { acceptConsumer(built(options), timeout.toJavaDuration()) }

/** Serves the next peer with a duplex; null: none arrived in that time. */
public suspend fun Listener.awaitDuplex(
    timeout: Duration = Duration.INFINITE,
    options: ChannelOptions.Builder.() -> Unit = {},
): Duplex? =
    waiting { acceptDuplex(built(options), timeout.toJavaDuration()) }

/** Sends copies in order. Suspends while the channel is full. */
public suspend fun Producer.awaitSend(
    messages: List<Message>,
    timeout: Duration = Duration.INFINITE,
): Unit = waiting { send(messages, timeout.toJavaDuration()) }

/** Suspends until the consumer has released everything. */
public suspend fun Producer.awaitDrain(timeout: Duration = Duration.INFINITE): Unit =
    waiting { drain(timeout.toJavaDuration()) }

/**
 * Copies the next message and releases it; null: none arrived in that time. Borrowed messages
 * ([Consumer.peek]) belong to one thread, so do not use them in coroutines that change threads.
 */
public suspend fun Consumer.awaitMessage(timeout: Duration = Duration.INFINITE): Message? {
    val message = receive(Lapwing.NOW)
    if (message != null || timeout == Duration.ZERO) return message
    return waiting { receive(timeout.toJavaDuration()) }
}

/** Returns copies of all messages, in order, until the clean end of the channel. */
public fun Consumer.asFlow(): Flow<Message> = untilClosed { awaitMessage()!! }

/** Sends one-way messages in order. */
public suspend fun Duplex.awaitSend(
    messages: List<Message>,
    timeout: Duration = Duration.INFINITE,
): Unit = waiting { send(messages, timeout.toJavaDuration()) }

/** Makes a call and returns its reply. If the coroutine is cancelled, it cancels the call. */
public suspend fun Duplex.awaitCall(type: Int, payload: ByteArray, timeout: Duration): Reply {
    val call = awaitStart(type, payload, timeout)
    try {
        return awaitFinish(call)
    } catch (e: CancellationException) {
        cancel(call)
        throw e
    }
}

/** Sends a request and returns the number of the call. The reply must arrive within that time. */
public suspend fun Duplex.awaitStart(type: Int, payload: ByteArray, timeout: Duration): Long =
    waiting { start(type, MemorySegment.ofArray(payload), timeout.toJavaDuration()) }

/** Suspends until that call ends, like [Duplex.finish]. */
public suspend fun Duplex.awaitFinish(call: Long): Reply = waiting { finish(call) }

/** Returns the next call that ends, like [Duplex.finishAny]; null: none ended in that time. */
public suspend fun Duplex.awaitFinishAny(timeout: Duration = Duration.INFINITE): Reply? =
    waiting { finishAny(timeout.toJavaDuration()) }

/** Returns the other side's next call or one-way message; null: none arrived in that time. */
public suspend fun Duplex.awaitRequest(timeout: Duration = Duration.INFINITE): Request? {
    val request = next(Lapwing.NOW)
    if (request != null || timeout == Duration.ZERO) return request
    return waiting { next(timeout.toJavaDuration()) }
}

/** Returns the other side's calls and one-way messages, until the clean end of the channel. */
public fun Duplex.requests(): Flow<Request> = untilClosed { awaitRequest()!! }

/** Answers a call. Suspends while the channel is full. */
public suspend fun Duplex.awaitReply(
    request: Request,
    type: Int,
    payload: ByteArray,
    timeout: Duration = Duration.INFINITE,
): Unit = waiting { reply(request, type, payload, timeout.toJavaDuration()) }

/** Answers a call with an error defined by this program. */
public suspend fun Duplex.awaitReplyError(
    request: Request,
    code: Int,
    text: String,
    timeout: Duration = Duration.INFINITE,
): Unit = waiting { replyError(request, code, text, timeout.toJavaDuration()) }

private fun <T> untilClosed(next: suspend () -> T): Flow<T> = flow {
    while (true) {
        val element =
            try {
                next()
            } catch (e: LapwingException) {
                if (e.code() == ErrorCode.CLOSED) return@flow
                throw e
            }
        emit(element)
    }
}
