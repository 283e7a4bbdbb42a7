package lapwing.examples

import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.nio.file.Path
import kotlinx.coroutines.flow.filter
import kotlinx.coroutines.runBlocking
import lapwing.Duplex
import lapwing.ErrorCode
import lapwing.LapwingException
import lapwing.Request
import lapwing.coroutines.awaitDuplex
import lapwing.coroutines.awaitReply
import lapwing.coroutines.awaitReplyError
import lapwing.coroutines.openListener
import lapwing.coroutines.requests

/**
 * Serves one client, in any language. A request of type 1 contains a number as 8 bytes,
 * little-endian. The reply of type 2 contains its square.
 */
fun main(arguments: Array<String>) = runBlocking {
    openListener(Path.of(arguments[0])).use { listener ->
        listener.awaitDuplex()!!.use { client ->
            try {
                client.requests().filter { it.isCall }.collect { answer(client, it) }
            } catch (e: LapwingException) {
                if (e.code() != ErrorCode.PEER_GONE) throw e
            }
        }
    }
}

private suspend fun answer(client: Duplex, request: Request) {
    if (request.type() != 1 || request.payload().byteSize() != 8L) {
        return client.awaitReplyError(request, 1, "this server squares: type 1, 8 bytes")
    }
    val n = request.payload().asByteBuffer().order(ByteOrder.LITTLE_ENDIAN).getLong(0)
    val squared = ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putLong(n * n).array()
    client.awaitReply(request, 2, squared)
}
