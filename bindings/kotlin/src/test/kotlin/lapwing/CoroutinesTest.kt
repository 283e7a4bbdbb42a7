package lapwing

import java.nio.file.Path
import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds
import kotlin.time.toJavaDuration
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.flow.filterIsInstance
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.flow.map
import kotlinx.coroutines.flow.take
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeoutOrNull
import lapwing.coroutines.asFlow
import lapwing.coroutines.awaitCall
import lapwing.coroutines.awaitDuplex
import lapwing.coroutines.awaitEnd
import lapwing.coroutines.awaitFlush
import lapwing.coroutines.awaitItem
import lapwing.coroutines.awaitMessage
import lapwing.coroutines.awaitProducer
import lapwing.coroutines.awaitReady
import lapwing.coroutines.awaitReply
import lapwing.coroutines.awaitRequest
import lapwing.coroutines.awaitSend
import lapwing.coroutines.connectConsumer
import lapwing.coroutines.connectDuplex
import lapwing.coroutines.openListener
import lapwing.coroutines.openPublisher
import lapwing.coroutines.openSubscriber
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertNull
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.assertThrows
import org.junit.jupiter.api.io.TempDir

class CoroutinesTest {
    @TempDir lateinit var directory: Path

    private fun open(): Publisher = openPublisher(directory) { recordBytes(16).capacity(4096) }

    @Test
    fun `an infinite duration is without end`() {
        assertEquals(-1, Lapwing.nanos(Duration.INFINITE.toJavaDuration()))
    }

    @Test
    fun `a flow has every item in order and ends at the close`() = runBlocking {
        open().use { publisher ->
            Feed.publish(publisher, 1, 100)
            assertEquals(100, publisher.awaitFlush())
            publisher.awaitEnd()
        }
        openSubscriber(directory) { start(Start.oldest()).endAtClose(true) }.use { subscriber ->
            val items = subscriber.asFlow(Batch(64)).map { if (it is Rows) it.copy() else it }.toList()
            val numbers = items.filterIsInstance<Records>().flatMap { rows -> rows.map { it.getLong(0) } }
            assertEquals((1L..100L).toList(), numbers)
            val events = items.filterIsInstance<Event>().map { it.kind() }
            assertEquals(
                listOf(Event.Kind.SESSION, Event.Kind.CAUGHT_UP, Event.Kind.CLOSED),
                events,
            )
        }
    }

    @Test
    fun `cancelling a collection ends its wait and leaves the subscriber usable`() = runBlocking {
        open().use { publisher ->
            openSubscriber(directory).use { subscriber ->
                val caughtUp = CompletableDeferred<Unit>()
                val collection = launch(Dispatchers.Default) {
                    subscriber.asFlow(Batch(8)).collect {
                        if (it is Event && it.kind() == Event.Kind.CAUGHT_UP) caughtUp.complete(Unit)
                    }
                }
                caughtUp.await()
                collection.cancelAndJoin()
                assertEquals(0, subscriber.inspect().records())
                Feed.publish(publisher, 1, 1)
                val records = subscriber.asFlow(Batch(8)).filterIsInstance<Records>().take(1)
                assertEquals(1L, records.map { it.first() }.first())
            }
        }
    }

    /** Creates a closed bus of 16-byte records whose second field has that name. */
    private fun publishPair(bus: Path, second: String) {
        val pair =
            """{"name":"desk.pair","version":1,"record_bytes":16,"fields":[
            {"name":"first","type":"uint64","offset":0},{"name":"$second","type":"uint64","offset":8}]}"""
        openPublisher(bus) { schema(pair).capacity(4096) }.use { it.publish(Row.allocate(16)) }
    }

    @Test
    fun `a bus that was replaced has its own schema`() = runBlocking {
        val bus = directory.resolve("pairs")
        publishPair(bus, "old")
        openSubscriber(bus) { start(Start.oldest()) }.use { subscriber ->
            fun second() = subscriber.schema().fields()[1].name()
            subscriber.asFlow(Batch(8)).filterIsInstance<Event>().first { event ->
                if (event.kind() == Event.Kind.SESSION) assertEquals("old", second())
                if (event.kind() == Event.Kind.CLOSED) {
                    bus.toFile().deleteRecursively()
                    publishPair(bus, "renamed")
                    assertEquals("old", second()) // the schema of the delivered session
                }
                event.kind() == Event.Kind.RESET
            }
            assertEquals("renamed", second())
        }
    }

    @Test
    fun `a timeout of Kotlin ends a wait, too`() = runBlocking {
        open().use {
            openSubscriber(directory).use { subscriber ->
                val batch = Batch(8)
                while (subscriber.awaitItem(batch, 200.milliseconds) != null) {}
                assertNull(withTimeoutOrNull(50.milliseconds) { subscriber.awaitItem(batch) })
                assertNull(subscriber.awaitItem(batch, Duration.ZERO))
                assertNull(subscriber.awaitItem(batch, 1.milliseconds))
            }
        }
    }

    @Test
    fun `a wait of a set is cancelled and the set stays usable`() = runBlocking {
        open().use { publisher ->
            openSubscriber(directory).use { subscriber ->
                val batch = Batch(8)
                while (subscriber.awaitItem(batch, 200.milliseconds) != null) {}
                WaitSet.open<String>().use { set ->
                    set.add(subscriber, "bus")
                    assertNull(set.awaitReady(Duration.ZERO))
                    assertNull(set.awaitReady(1.milliseconds))
                    assertNull(withTimeoutOrNull(50.milliseconds) { set.awaitReady() })
                    val ready = async { set.awaitReady() }
                    Feed.publish(publisher, 1, 1)
                    assertEquals("bus", ready.await()!!.token())
                }
            }
        }
    }

    @Test
    fun `messages come as a flow that ends with the channel`() = runBlocking {
        val path = directory.resolve("s")
        openListener(path).use { listener ->
            val consumer = async { connectConsumer(path, 20.seconds) }
            listener.awaitProducer(20.seconds)!!.use { producer ->
                consumer.await().use { taker ->
                    assertNull(taker.awaitMessage(Duration.ZERO))
                    producer.awaitSend(List(3) { Message.of(it, byteArrayOf(it.toByte())) })
                    producer.end()
                    assertEquals(listOf(0, 1, 2), taker.asFlow().map { it.type() }.toList())
                }
            }
        }
    }

    @Test
    fun `calls suspend, and one that is cancelled is cancelled on both sides`() = runBlocking {
        val path = directory.resolve("s")
        openListener(path).use { listener ->
            val connecting = async { connectDuplex(path, 20.seconds) }
            listener.awaitDuplex(20.seconds)!!.use { server ->
                connecting.await().use { client ->
                    val answering = launch {
                        val request = server.awaitRequest(20.seconds)!!
                        server.awaitReply(request, 2, request.payload().toArray(BYTE))
                    }
                    val reply = client.awaitCall(1, byteArrayOf(7), 20.seconds)
                    assertEquals(7, reply.payload().get(BYTE, 0))
                    answering.join()
                    assertNull(
                        withTimeoutOrNull(50.milliseconds) {
                            client.awaitCall(1, byteArrayOf(8), 20.seconds)
                        }
                    )
                    val e = assertThrows<LapwingException> { client.finishAny(Lapwing.NOW) }
                    assertEquals(ErrorCode.MISUSE, e.code()) // no call is pending
                }
            }
        }
    }

    @Test
    fun `an end that is no close is thrown to the collector`() = runBlocking {
        openSubscriber(directory.resolve("nowhere")) {
            reattach(10.milliseconds.toJavaDuration())
        }.use { subscriber ->
            val e = assertThrows<LapwingException> { runBlocking { subscriber.asFlow().first() } }
            assertEquals(ErrorCode.NO_BUS, e.code())
            assertTrue(e.message!!.contains("nowhere"))
        }
    }

    @Test
    fun `a coroutine that is cancelled while it connects goes on at once`() = runBlocking {
        val path = directory.resolve("s")
        openListener(path).use { // never calls accept
            assertNull(
                withTimeoutOrNull(50.milliseconds) { connectConsumer(path, Duration.INFINITE) }
            )
        }
    }

    @Test
    fun `an interrupt of the program is thrown and no cancelling`() = runBlocking {
        val path = directory.resolve("s")
        openListener(path).use { listener ->
            listener.interrupt()
            val e = assertThrows<LapwingException> { runBlocking { listener.awaitProducer() } }
            assertEquals(ErrorCode.INTERRUPTED, e.code())
        }
    }

    private companion object {
        val BYTE: java.lang.foreign.ValueLayout.OfByte = java.lang.foreign.ValueLayout.JAVA_BYTE
    }
}
