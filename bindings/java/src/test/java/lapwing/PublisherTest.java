package lapwing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PublisherTest {
  @TempDir Path directory;

  @Test
  void rowsFromTheHeapAreAllPublishedWhateverTheirNumber() {
    try (Publisher publisher = Feed.open(directory)) {
      assertEquals(10_000, publisher.publish(new byte[10_000 * 16]));
      assertEquals(10_000, publisher.flush(Feed.PATIENCE));
      assertEquals(10_000, publisher.inspect().head());
    }
  }

  @Test
  void aSessionGoesOnWhereTheLastOneEnded() {
    Feed.closedBus(directory, 7);
    try (Publisher publisher = Feed.open(directory)) {
      PublisherInfo info = publisher.inspect();
      assertEquals(PublisherInfo.Settled.CONTINUED, info.settled());
      assertEquals(PublisherInfo.JournalState.GOOD, info.journalState());
      assertEquals(8, info.first());
    }
  }

  @Test
  void aTakenBusIsAnErrorWithWords() {
    try (Publisher publisher = Feed.open(directory)) {
      var e = assertThrows(LapwingException.class,
          () -> Publisher.open(directory, PublisherOptions.builder().build(), Lapwing.NOW));
      assertEquals(ErrorCode.IN_USE, e.code());
      assertTrue(e.getMessage().contains(directory.toString()), e.getMessage());
      assertEquals(16, publisher.recordBytes());
    }
  }

  @Test
  void recordsOfAnotherSizeAreRefused() {
    try (Publisher publisher = Feed.open(directory)) {
      assertEquals(ErrorCode.RECORD_SIZE,
          assertThrows(LapwingException.class, () -> publisher.publish(new byte[17])).code());
      assertEquals(ErrorCode.RECORD_SIZE,
          assertThrows(LapwingException.class, () -> publisher.publish(Row.allocate(24))).code());
      assertEquals(0, publisher.inspect().head());
    }
  }

  @Test
  void anEndIsIdempotentAndWhatComesAfterItIsClosed() {
    Publisher publisher = Feed.open(directory);
    Feed.publish(publisher, 1, 3);
    publisher.end(Feed.PATIENCE);
    publisher.end(Lapwing.NOW);
    var e = assertThrows(LapwingException.class, () -> Feed.publish(publisher, 4, 4));
    assertEquals(ErrorCode.CLOSED, e.code());
    assertEquals(0, e.progress());
    publisher.close();
    publisher.close();
    assertEquals(ErrorCode.MISUSE,
        assertThrows(LapwingException.class, publisher::inspect).code());
  }

  @Test
  void aPublisherThatIsDestroyedClosesAllTheSame() {
    Publisher publisher = Feed.open(directory);
    Feed.publish(publisher, 1, 3);
    publisher.destroy();
    try (Publisher next = Publisher.open(directory,
        PublisherOptions.builder().recordBytes(16).capacity(4096).build(), Feed.PATIENCE)) {
      assertEquals(PublisherInfo.Settled.CONTINUED, next.inspect().settled());
      assertEquals(4, next.inspect().first());
    }
  }

  @Test
  void theLogGoesToItsTargetOrItsQueue() {
    List<String> lines = Collections.synchronizedList(new ArrayList<>());
    Log.to(line -> {
      lines.add(line);
      throw new IllegalStateException("of a target that fails: the process goes on");
    });
    Feed.closedBus(directory.resolve("first-bus"), 1);
    Log.toQueue();
    Feed.closedBus(directory.resolve("second-bus"), 1);
    List<String> queued = new ArrayList<>();
    for (Log.Line line; (line = Log.read()) != null; ) {
      queued.add(line.text());
    }
    Log.drop();
    assertTrue(lines.toString().contains("first-bus"), lines.toString());
    assertFalse(lines.toString().contains("second-bus"), lines.toString());
    assertTrue(queued.toString().contains("second-bus"), queued.toString());
    assertFalse(queued.toString().contains("first-bus"), queued.toString());
  }

  @Test
  void openingWaitsByDefaultForTheOneBefore() throws Exception {
    Publisher before = Feed.open(directory);
    var next = java.util.concurrent.CompletableFuture.supplyAsync(() -> Feed.open(directory));
    // A call that does not wait would have failed by then.
    assertThrows(java.util.concurrent.TimeoutException.class,
        () -> next.get(300, java.util.concurrent.TimeUnit.MILLISECONDS));
    before.close();
    next.get().close();
  }
}
