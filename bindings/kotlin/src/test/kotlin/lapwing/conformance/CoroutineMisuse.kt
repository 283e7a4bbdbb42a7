package lapwing.conformance

import java.nio.file.Path
import kotlin.system.exitProcess
import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import lapwing.Batch
import lapwing.Books
import lapwing.Consumer
import lapwing.Cursor
import lapwing.History
import lapwing.Lapwing
import lapwing.Listener
import lapwing.Message
import lapwing.Producer
import lapwing.Publisher
import lapwing.Records
import lapwing.Row
import lapwing.Subscriber
import lapwing.coroutines.awaitItem
import lapwing.coroutines.awaitMessage
import lapwing.coroutines.awaitProducer
import lapwing.coroutines.awaitPublish
import lapwing.coroutines.awaitSend
import lapwing.coroutines.connectConsumer
import lapwing.coroutines.openListener
import lapwing.coroutines.openPublisher
import lapwing.coroutines.openSubscriber

/**
 * Steps that perform invalid actions in coroutines. For a dropped publisher, Java's steps are used.
 */
internal class CoroutineMisuse {
    private class OneOfEach(
        val publisher: Publisher,
        val subscriber: Subscriber,
        val cursor: Cursor,
        val history: History,
        val books: Books,
        val listener: Listener,
        val producer: Producer,
        val consumer: Consumer,
    ) {
        /** Closes all of them, and returns the result of each close. */
        fun close(): List<String> =
            listOf<AutoCloseable>(
                    publisher, subscriber, cursor, history, books, listener, producer, consumer)
                .map { Misuse.thrownBy(it::close) }
    }

    private suspend fun openEach(directory: Path): OneOfEach = coroutineScope {
        val listener = openListener(Misuse.CHANNEL)
        val consumer = async { connectConsumer(Misuse.CHANNEL, PATIENCE) }
        OneOfEach(
            openPublisher(Misuse.OWN_BUS) { recordBytes(Misuse.ROW_BYTES) },
            openSubscriber(directory),
            Cursor.open(Path.of("cursor"), Lapwing.NOW),
            History.open(directory),
            Books.create(),
            listener,
            listener.awaitProducer(PATIENCE)!!,
            consumer.await(),
        )
    }

    suspend fun usedAfter(step: Step): List<String> {
        val each = openEach(step.path("directory"))
        val end = Misuse.joined(each.close() + each.close())
        if (end != "ok") return listOf(end)
        val calls: List<suspend () -> Any?> =
            listOf(
                { each.publisher.awaitPublish(Row.allocate(Misuse.ROW_BYTES).memory()) },
                { each.subscriber.awaitItem(Batch(1), Duration.ZERO) },
                { each.cursor.last() },
                { each.history.inspect() },
                { each.books.inspect() },
                { each.listener.awaitProducer(Duration.ZERO) },
                { each.producer.awaitSend(listOf(Message.of(1, ByteArray(8)))) },
                { each.consumer.awaitMessage(Duration.ZERO) },
            )
        val answers = calls.map { thrownBy(it) }
        return Driver.ok("kinds=%d answers=%s", answers.size, Misuse.joined(answers))
    }

    suspend fun twoCoroutines(step: Step): List<String> =
        openSubscriber(step.path("directory")).use { subscriber ->
            coroutineScope {
                val first = async(Dispatchers.Default) { endOfWait(subscriber) }
                val batch = Batch(16)
                var second: String
                do {
                    second = thrownBy { subscriber.awaitItem(batch, Duration.ZERO) }
                } while (second == "ok")
                subscriber.interrupt()
                Driver.ok("second=%s first=%s", second, first.await())
            }
        }

    suspend fun waitInMain(step: Step): List<String> {
        openSubscriber(step.path("directory")).use { readToRecords(it, Batch(16)) }
        return Driver.ok()
    }

    suspend fun exitInWait(step: Step): List<String> {
        val subscriber = openSubscriber(step.path("directory"))
        CoroutineScope(Dispatchers.Default).launch { endOfWait(subscriber) }
        do { // until it has read everything and waits
            delay(50.milliseconds)
        } while (thrownBy { subscriber.inspect() } == "ok")
        exitProcess(Misuse.EXIT_CODE)
    }

    private suspend fun readToRecords(subscriber: Subscriber, batch: Batch) {
        while (subscriber.awaitItem(batch) !is Records) {}
    }

    /**
     * Waits until an error, and returns its name. Ignores the error of a call that overlaps another
     * one.
     */
    private suspend fun endOfWait(subscriber: Subscriber): String {
        val batch = Batch(16)
        var end: String
        do {
            end = thrownBy { readToRecords(subscriber, batch) }
        } while (end == "misuse")
        return end
    }

    /** Returns the name of the error that the call throws; "ok" if it throws none. */
    private suspend fun thrownBy(call: suspend () -> Any?): String =
        try {
            call()
            "ok"
        } catch (e: RuntimeException) {
            Misuse.nameOf(e)
        }

    private companion object {
        val PATIENCE = 20.seconds
    }
}
