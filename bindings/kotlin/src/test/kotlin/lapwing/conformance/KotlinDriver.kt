package lapwing.conformance

import java.lang.foreign.MemorySegment
import kotlin.time.Duration
import kotlin.time.toKotlinDuration
import kotlinx.coroutines.runBlocking
import lapwing.Batch
import lapwing.Channel
import lapwing.ChannelInfo.Role
import lapwing.ChannelOptions
import lapwing.Consumer
import lapwing.Duplex
import lapwing.ErrorCode
import lapwing.Event
import lapwing.Item
import lapwing.LapwingException
import lapwing.Listener
import lapwing.Message
import lapwing.Producer
import lapwing.Publisher
import lapwing.Reply
import lapwing.coroutines.awaitDrain
import lapwing.coroutines.awaitDuplex
import lapwing.coroutines.awaitConsumer
import lapwing.coroutines.awaitEnd
import lapwing.coroutines.awaitFinish
import lapwing.coroutines.awaitFinishAny
import lapwing.coroutines.awaitFlush
import lapwing.coroutines.awaitItem
import lapwing.coroutines.awaitProducer
import lapwing.coroutines.awaitPublish
import lapwing.coroutines.awaitReply
import lapwing.coroutines.awaitReplyError
import lapwing.coroutines.awaitRequest
import lapwing.coroutines.awaitSend
import lapwing.coroutines.awaitStart
import lapwing.coroutines.connectConsumer
import lapwing.coroutines.connectDuplex
import lapwing.coroutines.connectProducer

/**
 * The driver for the Kotlin package: Java's driver, with replacements for the steps for which
 * Kotlin has its own calls. See tests/conformance/bindings for the drivers' answers.
 */
fun main() {
    val handles = Handles()
    val operations = Driver.operations(handles)
    fun step(name: String, answer: suspend (Step) -> List<String>) {
        check(name in operations) { "$name is not a step" }
        operations[name] = Driver.Operation { runBlocking { answer(it) } }
    }
    val buses = BusSteps(handles)
    step("publisher.publish", buses::publish)
    step("publisher.flush", buses::flush)
    step("publisher.close", buses::end)
    step("subscriber.read-all", buses::readAll)
    val channels = ChannelCalls(handles)
    step("listener.accept", channels::accept)
    step("channel.connect", channels::connect)
    step("channel.send", channels::send)
    step("channel.drain", channels::drain)
    step("channel.start", channels::start)
    step("channel.finish", channels::finish)
    step("channel.cancel", channels::cancel)
    step("channel.next", channels::next)
    step("channel.reply", channels::reply)
    val misuse = CoroutineMisuse()
    step("misuse.used-after", misuse::usedAfter)
    step("misuse.two-threads", misuse::twoCoroutines)
    step("misuse.wait", misuse::waitInMain)
    step("misuse.exit-in-wait", misuse::exitInWait)
    Driver.run(operations)
}

private val Step.wait: Duration
    get() = timeout().toKotlinDuration()

private class BusSteps(private val handles: Handles) {
    suspend fun publish(step: Step): List<String> {
        val publisher =
            handles.find(step, "on", Publisher::class.java) ?: return listOf("misuse last=0")
        val bytes = step.number("bytes", publisher.recordBytes().toLong()).toInt()
        val rows = TestRows.rows(step.number("from"), step.whole("count"), bytes)
        return try {
            val last =
                if (bytes == publisher.recordBytes()) {
                    publisher.awaitPublish(MemorySegment.ofArray(rows), step.wait)
                } else {
                    publisher.publish(MemorySegment.ofArray(rows), bytes, step.timeout())
                }
            listOf("ok last=$last")
        } catch (e: LapwingException) {
            listOf("${Driver.named(e.name())} last=${e.progress()}")
        }
    }

    suspend fun flush(step: Step): List<String> =
        listOf("ok durable=${handles.on(step, Publisher::class.java).awaitFlush(step.wait)}")

    suspend fun end(step: Step): List<String> {
        handles.on(step, Publisher::class.java).awaitEnd(step.wait)
        return Driver.ok()
    }

    suspend fun readAll(step: Step): List<String> {
        val opened = handles.on(step, SubscriberSteps.Opened::class.java)
        val batch = Batch(64)
        val lines = BatchLines(opened.isSparse)
        while (true) {
            val item: Item =
                try {
                    opened.subscriber().awaitItem(batch, step.wait)
                        ?: return lines.end(Driver.nothing(step).first())
                } catch (e: LapwingException) {
                    return lines.end(Driver.named(e.name()))
                }
            lines.add(item)
            if (item is Event && item.kind().toString() == step.text("until")) return lines.end("ok")
        }
    }
}

private class ChannelCalls(private val handles: Handles) {
    private val calls = java.util.Collections.synchronizedList(mutableListOf<Long>())

    private fun duplex(step: Step): Duplex = handles.on(step, Duplex::class.java)

    private fun ChannelOptions.Builder.from(step: Step) {
        if (step.has("capacity")) capacity(step.number("capacity"))
        if (step.has("message_bytes_max")) messageBytesMax(step.whole("message_bytes_max"))
        if (step.has("call_window")) callWindow(step.whole("call_window"))
        lateReplies(step.isSet("late_replies"))
    }

    suspend fun accept(step: Step): List<String> {
        val listener = handles.on(step, Listener::class.java)
        val channel: Channel? =
            when (ChannelSteps.role(step)!!) {
                Role.PRODUCER -> listener.awaitProducer(step.wait) { from(step) }
                Role.CONSUMER -> listener.awaitConsumer(step.wait) { from(step) }
                Role.DUPLEX -> listener.awaitDuplex(step.wait) { from(step) }
            }
        if (channel == null) return Driver.nothing(step)
        handles.put(step, channel)
        return Driver.ok()
    }

    suspend fun connect(step: Step): List<String> {
        val path = step.path("path")
        handles.put(
            step,
            when (ChannelSteps.role(step)!!) {
                Role.PRODUCER -> connectProducer(path, step.wait) { from(step) }
                Role.CONSUMER -> connectConsumer(path, step.wait) { from(step) }
                Role.DUPLEX -> connectDuplex(path, step.wait) { from(step) }
            },
        )
        return Driver.ok()
    }

    suspend fun send(step: Step): List<String> {
        val messages = TestRows.payloads(step).map { Message.of(step.whole("type"), it) }
        try {
            when (val channel = handles.find(step, "on", Channel::class.java)) {
                is Producer -> channel.awaitSend(messages, step.wait)
                is Duplex -> channel.awaitSend(messages, step.wait)
                else -> return listOf("misuse sent=0")
            }
            return listOf("ok sent=${messages.size}")
        } catch (e: LapwingException) {
            return listOf("${Driver.named(e.name())} sent=${e.progress()}")
        }
    }

    suspend fun drain(step: Step): List<String> {
        handles.on(step, Producer::class.java).awaitDrain(step.wait)
        return Driver.ok()
    }

    suspend fun start(step: Step): List<String> {
        val payload = TestRows.row(step.number("n"), step.whole("bytes"))
        calls += duplex(step).awaitStart(step.whole("type"), payload, step.wait)
        return listOf("ok call=${calls.size}")
    }

    private fun call(step: Step): Long = calls.getOrElse(step.whole("call") - 1) { -1 }

    suspend fun finish(step: Step): List<String> {
        val reply: Reply =
            if (step.isSet("call")) {
                duplex(step).awaitFinish(call(step))
            } else {
                duplex(step).awaitFinishAny(step.wait) ?: return Driver.nothing(step)
            }
        if (reply.result() != ErrorCode.OK) return listOf(Driver.named(reply.result().toString()))
        val number = calls.indexOf(reply.call()) + 1
        val payload = reply.payload()
        return listOf(
            "ok call=$number error=${digit(reply.isError)} late=${digit(reply.isLate)}" +
                " code=${reply.code()} type=${reply.type()} bytes=${payload.byteSize()}" +
                " digest=${TestRows.digest(payload)}"
        )
    }

    fun cancel(step: Step): List<String> {
        duplex(step).cancel(call(step))
        return Driver.ok()
    }

    suspend fun next(step: Step): List<String> {
        val request = duplex(step).awaitRequest(step.wait) ?: return Driver.nothing(step)
        handles.put(step, request)
        val payload = request.payload()
        return listOf(
            "ok call=${digit(request.isCall)} type=${request.type()} bytes=${payload.byteSize()}" +
                " digest=${TestRows.digest(payload)}"
        )
    }

    suspend fun reply(step: Step): List<String> {
        val request = handles.named(step, "call", lapwing.Request::class.java)
        if (step.has("error")) {
            val text = step.text("text") ?: ""
            duplex(step).awaitReplyError(request, step.whole("error"), text, step.wait)
        } else {
            val payload = TestRows.row(step.number("n"), step.whole("bytes"))
            duplex(step).awaitReply(request, step.whole("type"), payload, step.wait)
        }
        return Driver.ok()
    }

    private fun digit(flag: Boolean): Int = if (flag) 1 else 0
}
