package lapwing.conformance;

import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import lapwing.ChannelOptions;
import lapwing.Consumer;
import lapwing.Listener;
import lapwing.Producer;

/** A channel within this process: both sides, and the listener that connected them. */
record ChannelPair(Listener listener, Producer producer, Consumer consumer)
    implements AutoCloseable {
  static final Duration PATIENCE = Duration.ofSeconds(20);

  static ChannelPair open(Path path) {
    Listener listener = Listener.open(path);
    var connected = CompletableFuture.supplyAsync(
        () -> Consumer.connect(path, ChannelOptions.DEFAULTS, PATIENCE));
    return new ChannelPair(listener, listener.acceptProducer(ChannelOptions.DEFAULTS, PATIENCE),
        connected.join());
  }

  @Override
  public void close() {
    consumer.close();
    producer.close();
    listener.close();
  }
}
