package lapwing.examples

import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.nio.file.Path
import kotlin.time.Duration.Companion.seconds
import kotlin.time.toJavaDuration
import kotlinx.coroutines.runBlocking
import lapwing.coroutines.awaitCall
import lapwing.coroutines.connectDuplex

/** Requests squares from SquareServer, or from the same example in another language. */
fun main(arguments: Array<String>) = runBlocking {
    val patience = 10.seconds
    val socket = Path.of(arguments[0])
    connectDuplex(socket, patience) { retry(patience.toJavaDuration()) }.use { server ->
        for (n in arguments.drop(1).map(String::toLong)) {
            val payload = ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putLong(n).array()
            val reply = server.awaitCall(1, payload, patience)
            if (reply.isError) {
                println("error ${reply.code()}: ${reply.text()}")
            } else {
                val squared = reply.payload().asByteBuffer().order(ByteOrder.LITTLE_ENDIAN).getLong(0)
                println("$n squared is $squared")
            }
        }
    }
}
