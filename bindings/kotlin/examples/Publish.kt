package lapwing.examples

import java.nio.file.Path
import kotlinx.coroutines.runBlocking
import lapwing.Row
import lapwing.Schema
import lapwing.coroutines.awaitFlush
import lapwing.coroutines.openPublisher

/** The schema that LAPWING_RECORD generates from a C++ struct (docs/reference/records.md). */
private const val QUOTE =
    """{"name":"desk.quote","version":1,"record_bytes":24,"fields":[
       {"name":"time","type":"uint64","offset":0,"unit":"utc_ns","role":"time"},
       {"name":"instrument","type":"uint32","offset":8,"role":"key"},
       {"name":"size","type":"uint32","offset":12},
       {"name":"price","type":"int64","offset":16,"unit":"price"}]}"""

/**
 * Publishes ten records of a struct that this program defines, and prints the last durable
 * sequence.
 */
fun main(arguments: Array<String>) = runBlocking {
    val directory = Path.of(arguments[0])
    openPublisher(directory) { schema(QUOTE).capacity(4096) }.use { publisher ->
        val schema = Schema.ofBus(directory)
        val time = schema.field("time")
        val instrument = schema.field("instrument")
        val size = schema.field("size")
        val price = schema.field("price")
        val quote = Row.allocate(schema)
        for (i in 1L..10) {
            quote.put(time, System.currentTimeMillis() * 1_000_000)
            quote.put(instrument, 42)
            quote.put(size, i)
            quote.put(price, 4_500_250_000_000 + i * 250_000_000) // 4500.25 and on, in steps of 0.25
            publisher.publish(quote)
        }
        println("durable up to ${publisher.awaitFlush()}")
    }
}
