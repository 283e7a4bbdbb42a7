package lapwing.examples

import java.nio.file.Path
import java.util.Locale
import kotlinx.coroutines.runBlocking
import lapwing.Batch
import lapwing.Books
import lapwing.Event
import lapwing.Lapwing
import lapwing.Level
import lapwing.Start
import lapwing.coroutines.asFlow
import lapwing.coroutines.openSubscriber

/** Follows a dbn.mbo bus until it is closed, and prints the best prices of each instrument. */
fun main(arguments: Array<String>) = runBlocking {
    val batch = Batch(4096)
    Books.create().use { books ->
        openSubscriber(Path.of(arguments[0])) {
            name("top of book").start(Start.oldest()).endAtClose(true)
        }.use { subscriber ->
            subscriber.asFlow(batch).collect { item ->
                books.take(batch)
                if (item is Event) System.err.println(item)
            }
        }
        for (key in books.keys()) {
            val book = books.find(key).orElseThrow()
            println("$key ${text(book.bid())} | ${text(book.ask())}")
        }
    }
}

private fun text(level: Level): String =
    if (level.price() == Lapwing.NO_PRICE) "-"
    else String.format(Locale.ROOT, "%d x %.2f", level.size(),
        level.price().toDouble() / Lapwing.PRICE_SCALE)
