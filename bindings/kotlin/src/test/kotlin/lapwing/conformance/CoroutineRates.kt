package lapwing.conformance

import lapwing.Batch
import lapwing.Records
import lapwing.coroutines.awaitItem
import lapwing.Subscriber

/**
 * The rate of reading in a coroutine. The others are Java's: without a wait to suspend in, its calls are
 * the fastest ones of Kotlin, too.
 */
internal suspend fun rateOfReading(step: Step): List<String> {
    val passes = Passes(step)
    val batch = Batch(step.whole("rows"))
    while (passes.areLeft()) {
        Subscriber.open(step.path("directory"), RateSteps.fromOldest().build()).use { subscriber ->
            passes.begin()
            var left = passes.records()
            while (left > 0) {
                val item = subscriber.awaitItem(batch)
                if (item is Records) left -= item.count()
            }
            passes.end()
        }
    }
    return Driver.ok("ns=%s garbage=%s", passes.ns(), passes.garbage())
}
