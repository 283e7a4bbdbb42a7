package lapwing.examples

import java.nio.file.Path
import kotlinx.coroutines.runBlocking
import lapwing.Event
import lapwing.Records
import lapwing.Row
import lapwing.Schema
import lapwing.Start
import lapwing.State
import lapwing.coroutines.asFlow
import lapwing.coroutines.openSubscriber

/** The loop from README.md: prints the prices on ./es, a dbn.mbo bus, until it is closed. */
fun main() = runBlocking {
    val price = Schema.of("dbn.mbo").field("price")
    openSubscriber(Path.of("./es")) { start(Start.oldest()).endAtClose(true) }.use { subscriber ->
        subscriber.asFlow().collect { item ->
            when (item) {
                is Records -> item.forEach { add(it.sequence(), it.getDouble(price)) }
                is State -> item.forEach { load(it) }
                is Event -> println(item) // "gap 501..1139 lapped fillable"
            }
        }
    }
}

private fun add(sequence: Long, price: Double) = println("$sequence $price")

private fun load(order: Row) = println("of a state: ${order.toArray().toHexString()}")
