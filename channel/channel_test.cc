// Tests the guarantees of producer and consumer through their interface.

#include <poll.h>

#include <array>
#include <thread>

#include "proto/channel_frames.h"
#include "testing/channel_fixture.h"

namespace lapwing {
namespace {

TEST_CASE("A message arrives with its bytes and its type") {
  ChannelPair pair({});
  REQUIRE(pair.producer().send(bytes_of("an order"), 7) == Errc::kOk);
  const Result<Message> peek = pair.consumer().try_peek();
  REQUIRE(peek.ok());
  CHECK(text_of(peek->payload) == "an order");
  CHECK(peek->type == 7);
  CHECK(pair.consumer().release() == Errc::kOk);
  CHECK(pair.consumer().try_peek().error() == Errc::kWouldBlock);
}

TEST_CASE("An empty message is a message") {
  ChannelPair pair({});
  REQUIRE(pair.producer().send({}, 3) == Errc::kOk);
  std::array<std::byte, 8> buffer;
  const Result<Received> received = pair.consumer().try_receive(buffer);
  CHECK(received.ok());
  CHECK(received->size == 0);
  CHECK(received->type == 3);
}

TEST_CASE("A parked consumer is woken by a commit, and a parked producer by a release") {
  ChannelPair pair({.capacity = 1024, .message_bytes_max = 400, .wait = WaitStrategy::kPark});
  constexpr int kMessages = 2000;
  int sent = 0;
  std::thread sender([&] {
    for (int i = 0; i < kMessages; ++i) {
      sent += pair.producer().send(std::as_bytes(std::span(&i, 1)), 0, soon()).ok();
    }
    pair.producer().close();
  });
  int expected = 0;
  for (;;) {
    const Result<Message> peek = pair.consumer().peek(soon());
    if (!peek.ok()) {
      CHECK(peek.error() == Errc::kClosed);
      break;
    }
    int got = -1;
    REQUIRE(peek->payload.size() == sizeof got);
    std::memcpy(&got, peek->payload.data(), sizeof got);
    REQUIRE(got == expected++);
    REQUIRE(pair.consumer().release() == Errc::kOk);
  }
  sender.join();
  CHECK(sent == kMessages);
  CHECK(expected == kMessages);
  INFO(pair.producer().counters().sleeps << ' ' << pair.consumer().counters().sleeps);
  CHECK(pair.consumer().counters().sleeps + pair.producer().counters().sleeps > 0);
}

TEST_CASE("A batch with a corrupt frame in it has no messages") {
  const TemporaryDirectory directory;
  auto [consumer, producer] = make_ends<ChannelConsumer, RawEnd<ChannelRole::kProducer>>(
      directory.file("channel.sock"), {}, {});
  const OwnMemory& memory = producer.side->own();
  FrameWriter writer(memory.data(), memory.header(), memory.words(), producer.side->peer().words());
  REQUIRE(writer.claim(0) == FrameWriter::Room::kYes);
  writer.stage(0, 0);
  writer.publish();
  std::byte* const second = memory.data() + writer.position();
  store_long_bytes(second, kMessageBytesMax + 1);
  const FrameHeads heads(memory.header().capacity);
  store_frame_head(second, heads.at(writer.position(), FrameKind::kLong, 0, 0));
  std::array<Message, 4> batch;
  const Result<std::size_t> peeked = consumer.try_peek_batch(batch);
  CHECK(peeked.error() == Errc::kCorrupt);
  CHECK(*peeked == 0);
}

TEST_CASE("Staged messages without a commit are never sent, however the producer ends") {
  ChannelPair pair({});
  REQUIRE(pair.producer().try_send({}, 1) == Errc::kOk);
  REQUIRE(pair.producer().try_claim(0).error() == Errc::kOk);
  REQUIRE(pair.producer().stage(0, 2) == Errc::kOk);
  SECTION("by a close") {
    pair.producer().close();
  }
  SECTION("with the object") {
    const ChannelProducer gone = std::move(pair.producer());
  }
  CHECK(pair.consumer().peek(soon())->type == 1);
  REQUIRE(pair.consumer().release() == Errc::kOk);
  CHECK(pair.consumer().peek(soon()).error() == Errc::kClosed);
}

TEST_CASE("A drain returns whether everything was released, even after the consumer has closed") {
  ChannelPair pair({});
  REQUIRE(pair.producer().try_send({}, 0) == Errc::kOk);
  REQUIRE(pair.consumer().try_peek().error() == Errc::kOk);
  const auto close_and_notice = [&] {
    pair.consumer().close();
    REQUIRE_FALSE(pair.producer().arm(0));
  };
  SECTION("it was") {
    REQUIRE(pair.consumer().release() == Errc::kOk);
    close_and_notice();
    CHECK(pair.producer().drain() == Errc::kOk);
    CHECK(pair.producer().try_send({}, 0) == Errc::kClosed);
  }
  SECTION("it was not") {
    close_and_notice();
    CHECK(pair.producer().drain() == Errc::kClosed);
  }
  SECTION("something was staged") {
    REQUIRE(pair.consumer().release() == Errc::kOk);
    REQUIRE(pair.producer().try_claim(0).error() == Errc::kOk);
    REQUIRE(pair.producer().stage(0, 0) == Errc::kOk);
    close_and_notice();
    CHECK(pair.producer().drain() == Errc::kClosed);
  }
}

TEST_CASE("The sender's counters include the messages that the other side has released") {
  ChannelPair pair({});
  for (int i = 0; i < 3; ++i) REQUIRE(pair.producer().send({}, 0) == Errc::kOk);
  CHECK(pair.producer().counters().messages_sent == 3);
  CHECK(pair.producer().counters().messages_released == 0);
  REQUIRE(pair.consumer().try_peek().error() == Errc::kOk);
  REQUIRE(pair.consumer().release() == Errc::kOk);
  CHECK(pair.producer().counters().messages_released == 1);
}

TEST_CASE("Waiting in an event loop is counted like any other wait") {
  ChannelPair pair({.capacity = 1024, .message_bytes_max = 400});
  REQUIRE(pair.consumer().arm());
  CHECK(pair.consumer().counters().empty_waits == 1);
  CHECK(pair.consumer().counters().sleeps == 1);
  while (pair.producer().try_send({}, 0).ok()) {
  }
  REQUIRE(pair.producer().arm(0));
  CHECK(pair.producer().counters().full_waits == 1);
  CHECK(pair.producer().counters().sleeps == 1);
  CHECK_FALSE(pair.consumer().arm());
  CHECK(pair.consumer().counters().empty_waits == 1);
}

TEST_CASE("Staged messages become visible when there is no room for more") {
  ChannelPair pair({.capacity = 1024, .message_bytes_max = 400});
  std::uint32_t staged = 0;
  while (pair.producer().try_claim(400).error() == Errc::kOk) {
    REQUIRE(pair.consumer().try_peek().error() == Errc::kWouldBlock);
    REQUIRE(pair.producer().stage(400, ++staged) == Errc::kOk);
  }
  REQUIRE(staged == 2);
  for (std::uint32_t type = 1; type <= staged; ++type) {
    REQUIRE(pair.consumer().try_peek()->type == type);
    REQUIRE(pair.consumer().release() == Errc::kOk);
  }
}

TEST_CASE("A producer that always finds room still notices that its consumer is gone") {
  ChannelPair pair({});
  pair.consumer().close();
  const Deadline deadline = soon();
  Errc result = Errc::kOk;
  while (result == Errc::kOk && !deadline.has_passed()) {
    result = pair.producer().try_claim(1).error();
  }
  CHECK(result == Errc::kClosed);
}

TEST_CASE("A wake-up that was not waited for does not end the next poll") {
  ChannelPair pair({});
  REQUIRE(pair.consumer().arm());
  REQUIRE(pair.producer().try_send({}, 0) == Errc::kOk);
  REQUIRE(pair.consumer().try_peek().error() == Errc::kOk);
  REQUIRE(pair.consumer().release() == Errc::kOk);
  REQUIRE(pair.consumer().arm());
  pollfd entry{pair.consumer().fd(), POLLIN, 0};
  CHECK(poll(&entry, 1, 0) == 0);
  REQUIRE(pair.producer().try_send({}, 0) == Errc::kOk);
  CHECK(poll(&entry, 1, 0) == 1);
}

TEST_CASE("A message between the last check and the end is still found") {
  const WaitStrategy strategy =
      GENERATE(WaitStrategy::kBusy, WaitStrategy::kBackoff, WaitStrategy::kPark);
  const int closes_at_look = GENERATE(1, 2, 3);
  TemporaryDirectory directory;
  auto [producer, raw] = make_ends<ChannelProducer, RawEnd<ChannelRole::kConsumer>>(
      directory.path() + "/channel.sock", {}, {.wait = strategy});
  const PeerMemory& peer = raw.side->peer();
  const FrameReader reader(peer.data(), peer.header(), raw.side->own().words());
  int looks = 0;
  const auto look = [&, &sender = producer] {
    Message message;
    const FrameReader::Look seen = reader.look(reader.position(), message);
    if (++looks == closes_at_look) {  // directly after this poll
      CHECK(sender.try_send({}, 7) == Errc::kOk);
      sender.close();
    }
    return seen == FrameReader::Look::kMessage ? Errc::kOk : Errc::kWouldBlock;
  };
  CHECK(raw.side->wait(look, soon().monotonic_ns(), raw.side->own().words().empty_waits) ==
        Errc::kOk);
}

TEST_CASE("A sleep is ended by one wake-up, however much is sent") {
  ChannelPair pair({});
  for (std::uint64_t sleep = 1; sleep <= 3; ++sleep) {
    REQUIRE(pair.consumer().arm());
    for (int i = 0; i < 10; ++i) REQUIRE(pair.producer().try_send({}, 0) == Errc::kOk);
    CHECK(pair.producer().counters().wakes == sleep);
    while (pair.consumer().try_peek().error() == Errc::kOk) {
      REQUIRE(pair.consumer().release() == Errc::kOk);
    }
  }
}

TEST_CASE("An end that waited in an event loop and then waits in an operation is woken") {
  ChannelPair pair({.wait = WaitStrategy::kPark});
  REQUIRE(pair.consumer().arm());
  std::array<Errc, 2> sent{};
  std::thread sender([&] {
    sent[0] = pair.producer().send({}, 1, soon()).error();
    while (pair.consumer().counters().sleeps < 3) std::this_thread::yield();
    sent[1] = pair.producer().send({}, 2, soon()).error();
  });
  wait_readable(pair.consumer().fd(), kChannelTestNs);
  const Errc first = pair.consumer().try_peek().error();
  const Result<> released = pair.consumer().release();
  const bool polls = pair.consumer().arm();  // takes the packet of the first sleep
  const std::uint64_t begin_ns = monotonic_ns();
  const Result<Message> second = pair.consumer().peek(soon());
  const std::uint64_t peeked_ns = monotonic_ns() - begin_ns;
  sender.join();
  CHECK(sent == std::array{Errc::kOk, Errc::kOk});
  CHECK(first == Errc::kOk);
  CHECK(released.ok());
  CHECK(polls);
  CHECK(second->type == 2);
  // If the sender was delayed, whole sleeps have ended by the clock, and the message may have
  // arrived between two of them.
  const std::uint64_t ended_by_clock = peeked_ns / kChannelSleepNsMax;
  CHECK(pair.consumer().counters().sleeps >= 3);
  CHECK(pair.consumer().counters().sleeps - 3 <= ended_by_clock);
  const std::uint64_t wakes = pair.producer().counters().wakes;
  CHECK((wakes == 2 || (wakes == 1 && ended_by_clock > 0)));
}

TEST_CASE("A wake-up that the kernel could not take is sent by the next operation") {
  ChannelPair pair({});
  REQUIRE(pair.consumer().arm());  // it sleeps
  const auto filler = make_frame<WakeFrame>(FrameType::kWake);
  while (send_frame(pair.producer().fd(), filler) == SendOutcome::kSent) {
  }
  REQUIRE(pair.producer().try_send({}, 1) == Errc::kOk);  // no room for a packet
  CHECK(pair.producer().counters().wakes == 0);
  Packet packet;
  while (receive_frame(pair.consumer().fd(), packet, channel_frame_length) ==
         ReceiveOutcome::kFrame) {
  }
  REQUIRE(pair.producer().try_send({}, 2) == Errc::kOk);
  CHECK(pair.producer().counters().wakes == 1);
  CHECK(receive_frame(pair.consumer().fd(), packet, channel_frame_length) ==
        ReceiveOutcome::kFrame);
}

}  // namespace
}  // namespace lapwing
