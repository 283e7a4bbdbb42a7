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
 * Serves one client, in any language. A request of type 1 contains a number as 8 bytes,
 * little-endian. The reply of type 2 contains its square.
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
          continue; // one-way: no answer is expected
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
