package lapwing;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ChannelTest {
  private static final ChannelOptions DEFAULTS = ChannelOptions.DEFAULTS;

  @TempDir Path directory;
  private Listener listener;

  @BeforeEach
  void listen() {
    listener = Listener.open(directory.resolve("s"));
  }

  @AfterEach
  void close() {
    listener.close();
  }

  private Consumer connectConsumer() {
    return Consumer.connect(directory.resolve("s"), DEFAULTS, Feed.PATIENCE);
  }

  /** Both ends of a channel. */
  private record Pair(Producer producer, Consumer consumer) implements AutoCloseable {
    @Override
    public void close() {
      producer.close();
      consumer.close();
    }
  }

  private Pair pair() {
    var consumer = CompletableFuture.supplyAsync(this::connectConsumer);
    return new Pair(listener.acceptProducer(DEFAULTS, Feed.PATIENCE), consumer.join());
  }

  @Test
  void aClaimIsCommittedAndAPeekIsReleasedAndBothEndTheirMemory() {
    try (Pair pair = pair()) {
      MemorySegment room = pair.producer.claim(64, Feed.PATIENCE);
      room.setString(0, "hello");
      pair.producer.commit(6, 7);
      assertThrows(IllegalStateException.class, () -> room.set(ValueLayout.JAVA_BYTE, 0, (byte) 1));

      Messages messages = pair.consumer.peek(16, Feed.PATIENCE);
      assertEquals(1, messages.size());
      Message message = messages.get(0);
      assertEquals(7, message.type());
      assertEquals("hello", message.payload().getString(0));
      assertThrows(RuntimeException.class,
          () -> message.payload().set(ValueLayout.JAVA_BYTE, 0, (byte) 1));
      pair.consumer.release(1);
      assertThrows(IllegalStateException.class, () -> message.payload().getString(0));
      assertEquals(0, messages.size());
      pair.producer.drain(Feed.PATIENCE);
      assertEquals(1, pair.producer.inspect().released());
    }
  }

  @Test
  void messagesAreSentInOrderAndTheRestOfAPeekIsThereAgain() {
    try (Pair pair = pair()) {
      pair.producer.send(List.of(Message.of(1, new byte[] {1}), Message.of(2, new byte[0]),
          Message.of(3, new byte[] {3, 3, 3})), Feed.PATIENCE);
      assertEquals(3, pair.consumer.peek(16, Feed.PATIENCE).size());
      pair.consumer.release(2);
      assertArrayEquals(new byte[] {3, 3, 3}, pair.consumer.receive(Feed.PATIENCE).toArray());
      assertNull(pair.consumer.receive(Lapwing.NOW));
      assertTrue(pair.consumer.peek(1, Duration.ofMillis(1)).isEmpty());
    }
  }

  @Test
  void aMessageOfAnotherThreadIsNotReleasedAndACloseWaitsForIt() throws Exception {
    try (Pair pair = pair()) {
      pair.producer.send(1, new byte[] {5}, Feed.PATIENCE);
      MemorySegment payload = pair.consumer.peek(1, Feed.PATIENCE).payload(0);
      CompletableFuture.runAsync(() -> {
        assertEquals(ErrorCode.MISUSE,
            assertThrows(LapwingException.class, () -> pair.consumer.release(1)).code());
        pair.consumer.close();
      }).get();
      assertEquals(5, payload.get(ValueLayout.JAVA_BYTE, 0)); // still mapped
      assertEquals(ErrorCode.MISUSE,
          assertThrows(LapwingException.class, () -> pair.consumer.release(1)).code());
      assertThrows(IllegalStateException.class, () -> payload.get(ValueLayout.JAVA_BYTE, 0));
    }
  }

  @Test
  void aFullChannelGivesNoRoomAndAnAbortGivesItBack() {
    try (Pair pair = pair()) {
      pair.producer.claim(64, Lapwing.NOW);
      pair.producer.abort();
      int sent = 0;
      while (pair.producer.claim(60_000, Lapwing.NOW) != null) {
        pair.producer.commit(60_000, 1);
        sent++;
      }
      assertTrue(sent > 4, sent + " messages of 60,000 bytes in 1 MiB");
      assertNull(pair.producer.claim(60_000, Duration.ofMillis(1)));
      var e = assertThrows(LapwingException.class,
          () -> pair.producer.send(1, new byte[60_000], Lapwing.NOW));
      assertEquals(ErrorCode.WOULD_BLOCK, e.code());
      assertTrue(pair.producer.armFor(60_000));
    }
  }

  @Test
  void callsAreAnsweredRefusedAndTimedOut() {
    var client = CompletableFuture.supplyAsync(
        () -> Duplex.connect(directory.resolve("s"), DEFAULTS, Feed.PATIENCE));
    try (Duplex server = listener.acceptDuplex(DEFAULTS, Feed.PATIENCE);
        Duplex caller = client.join()) {
      MemorySegment ping = MemorySegment.ofArray(new byte[] {1, 2});
      long first = caller.start(1, ping, Feed.PATIENCE);
      long second = caller.start(2, ping, Feed.PATIENCE);
      Request one = server.next(Feed.PATIENCE);
      Request two = server.next(Feed.PATIENCE);
      assertTrue(one.isCall());
      assertArrayEquals(new byte[] {1, 2}, one.payload().toArray(ValueLayout.JAVA_BYTE));
      server.replyError(two, 77, "no such instrument", Feed.PATIENCE);
      server.reply(one, 9, new byte[] {3}, Feed.PATIENCE);
      Reply reply = caller.finish(first);
      assertEquals(9, reply.type());
      Reply refused = caller.finishAny(Feed.PATIENCE);
      assertEquals(second, refused.call());
      assertTrue(refused.isError());
      assertEquals(77, refused.code());
      assertEquals("no such instrument", refused.text());

      long third = caller.start(1, ping, Duration.ofMillis(1));
      assertEquals(ErrorCode.TIMED_OUT,
          assertThrows(LapwingException.class, () -> caller.finish(third)).code());
      assertNotNull(server.next(Feed.PATIENCE));
      caller.send(4, ping, Feed.PATIENCE);
      Request note = server.next(Feed.PATIENCE);
      while (note.isCall() || note.type() != 4) {
        note = server.next(Feed.PATIENCE);
      }
      assertNull(server.next(Lapwing.NOW));
    }
  }

  @Test
  void theOtherSidesEndIsAnError() {
    try (Pair pair = pair()) {
      assertTrue(pair.producer.fd() >= 0);
      pair.producer.end();
      assertEquals(ErrorCode.CLOSED,
          assertThrows(LapwingException.class, pair.producer::fd).code());
      var e = assertThrows(LapwingException.class, () -> pair.consumer.peek(1, Feed.PATIENCE));
      assertEquals(ErrorCode.CLOSED, e.code());
    }
  }

  @Test
  void aListenerIsInterruptedAndServesNobodyInTime() {
    assertNull(listener.acceptProducer(DEFAULTS, Lapwing.NOW));
    listener.interrupt();
    assertEquals(ErrorCode.INTERRUPTED, assertThrows(LapwingException.class,
        () -> listener.acceptProducer(DEFAULTS, Lapwing.FOREVER)).code());
    listener.tend();
    assertTrue(listener.fd() >= 0);
  }
}
