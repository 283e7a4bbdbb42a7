import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.time.Duration;
import lapwing.ChannelOptions;
import lapwing.Duplex;
import lapwing.Reply;

/**
 * Requests squares from SquareServer, or from the same example in another language.
 *
 * <pre>java -cp lapwing.jar --enable-native-access=ALL-UNNAMED examples/SquareClient.java SOCKET 7 12</pre>
 */
final class SquareClient {
  private static final ValueLayout.OfLong NUMBER =
      ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  private static final Duration PATIENCE = Duration.ofSeconds(10);
  private static final int SQUARE = 1;

  private SquareClient() {}

  public static void main(String[] arguments) {
    var options = ChannelOptions.builder().retry(PATIENCE).build(); // the server may start later
    try (var server = Duplex.connect(Path.of(arguments[0]), options, PATIENCE)) {
      for (int i = 1; i < arguments.length; i++) {
        long n = Long.parseLong(arguments[i]);
        byte[] payload = ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putLong(n).array();
        Reply reply = server.call(SQUARE, payload, PATIENCE);
        System.out.println(reply.isError() ? "error " + reply.code() + ": " + reply.text()
            : n + " squared is " + reply.payload().get(NUMBER, 0));
      }
    }
  }
}
