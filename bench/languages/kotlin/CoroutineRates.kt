package rates

import java.util.function.Function
import kotlinx.coroutines.runBlocking
import lapwing.Batch
import lapwing.Records
import lapwing.Subscriber
import lapwing.coroutines.awaitItem

/**
 * The rate of reading in a coroutine. The other rates are Java's: its calls are the fastest in
 * Kotlin unless a wait must suspend.
 */
fun main(arguments: Array<String>) {
    val rates = Rates.rates()
    rates["read"] = Function { step -> runBlocking { read(step) } }
    Rates.run(rates, arguments)
}

private suspend fun read(step: Rates.Step): String {
    val passes = Passes(step)
    val batch = Batch(step.whole("rows"))
    while (passes.areLeft()) {
        Subscriber.open(step.path("directory"), Rates.fromOldest().build()).use { subscriber ->
            passes.begin()
            var left = passes.records()
            while (left > 0) {
                val item = subscriber.awaitItem(batch)
                if (item is Records) left -= item.count()
            }
            passes.end()
        }
    }
    return passes.ns() + passes.garbage()
}
