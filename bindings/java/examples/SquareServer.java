import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import lapwing.ChannelOptions;
import lapwing.Duplex;
import lapwing.ErrorCode;
import lapwing.Lapwing;
import lapwing.LapwingException;
import lapwing.Listener;
import lapwing.Request;

/**
 * Serves one client, in whatever language it is: a request of type 1 has a number, 8 bytes,
 * little-endian; the reply of type 2 has its square.
 *
 * <pre>java -cp lapwing.jar --enable-native-access=ALL-UNNAMED examples/SquareServer.java SOCKET</pre>
 */
final class SquareServer {
  private static final ValueLayout.OfLong NUMBER =
      ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  private static final int SQUARE = 1;
  private static final int SQUARED = 2;

  private SquareServer() {}

  public static void main(String[] arguments) {
    try (var listener = Listener.open(Path.of(arguments[0]));
        var client = listener.acceptDuplex(ChannelOptions.DEFAULTS, Lapwing.FOREVER)) {
      serve(client);
    }
  }

  private static void serve(Duplex client) {
    try {
      for (;;) {
        Request request = client.next(Lapwing.FOREVER);
        if (!request.isCall()) {
          continue; // one-way: nobody waits for an answer
        }
        if (request.type() != SQUARE || request.payload().byteSize() != NUMBER.byteSize()) {
          client.replyError(request, 1, "this server squares: type 1, 8 bytes", Lapwing.FOREVER);
          continue;
        }
        long n = request.payload().get(NUMBER, 0);
        byte[] squared =
            ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putLong(n * n).array();
        client.reply(request, SQUARED, squared, Lapwing.FOREVER);
      }
    } catch (LapwingException e) {
      if (e.code() != ErrorCode.CLOSED && e.code() != ErrorCode.PEER_GONE) {
        throw e;
      }
    }
  }
}
