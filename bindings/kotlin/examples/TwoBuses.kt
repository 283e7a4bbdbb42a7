package lapwing.examples

import java.nio.file.Path
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds
import kotlin.time.toJavaDuration
import kotlinx.coroutines.runBlocking
import lapwing.Batch
import lapwing.Event
import lapwing.Records
import lapwing.Start
import lapwing.Subscriber
import lapwing.WaitSet
import lapwing.coroutines.awaitItem
import lapwing.coroutines.awaitReady
import lapwing.coroutines.openSubscriber

/** The program's data for a bus, used as the token of its source. */
private class Bus(val subscriber: Subscriber) {
    var records = 0L

    /** Reads a batch or an event, if one is available. Returns false if the bus was closed. */
    suspend fun take(batch: Batch): Boolean {
        val item = subscriber.awaitItem(batch, Duration.ZERO)
        if (item is Records) records += item.count()
        return !(item is Event && item.kind() == Event.Kind.CLOSED)
    }
}

/**
 * Reads two buses in one coroutine until both are closed. Prints the number of records from each
 * bus once a second.
 */
fun main(arguments: Array<String>) = runBlocking {
    val (first, second) = arguments.map { Path.of(it) }
    WaitSet.open<Bus?>().use { set ->
        openSubscriber(first) { start(Start.oldest()) }.use { ofFirst ->
            openSubscriber(second) { start(Start.oldest()) }.use { ofSecond ->
                val a = Bus(ofFirst)
                val b = Bus(ofSecond)
                set.add(ofFirst, a)
                set.add(ofSecond, b)
                set.addTimer(1.seconds.toJavaDuration(), 1.seconds.toJavaDuration(), null)
                val batch = Batch(4096)
                var open = 2
                while (open > 0) {
                    val ready = set.awaitReady()!!
                    val bus = ready.token()
                    if (bus == null) {
                        System.err.println("${a.records} and ${b.records} records")
                    } else if (!bus.take(batch)) {
                        set.remove(ready)
                        open--
                    }
                }
                println("${first.fileName} ${a.records}")
                println("${second.fileName} ${b.records}")
            }
        }
    }
}
