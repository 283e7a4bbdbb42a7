// Incorrect calls: each returns kMisuse with a status that contains the remedy, and changes
// nothing.

#include <sys/sysinfo.h>

#include <array>
#include <cstring>

#include "testing/channel_fixture.h"
#include "testing/skip.h"

namespace lapwing {
namespace {

std::string why(const ChannelProducer& end) {
  return std::string(end.status().message());
}
std::string why(const ChannelConsumer& end) {
  return std::string(end.status().message());
}

std::uint64_t all_memory() {
  struct sysinfo info{};
  REQUIRE(sysinfo(&info) == 0);
  return info.totalram * info.mem_unit;
}

// Checks that the pair still carries a message.
void check_alive(ChannelPair& pair) {
  REQUIRE(pair.producer().try_send(bytes_of("alive"), 1) == Errc::kOk);
  const Result<Message> peek = pair.consumer().try_peek();
  REQUIRE(peek.ok());
  CHECK(text_of(peek->payload) == "alive");
  REQUIRE(pair.consumer().release() == Errc::kOk);
}

TEST_CASE("A message above the maximum is refused, and one of the maximum is accepted") {
  ChannelPair pair({.capacity = 1024, .message_bytes_max = 400});
  const std::string largest(400, 'x');
  const std::string larger(401, 'x');
  CHECK(pair.producer().try_claim(401).error() == Errc::kMisuse);
  CHECK_THAT(why(pair.producer()), Catch::Contains("401") && Catch::Contains("400"));
  CHECK(pair.producer().claim(std::size_t{1} << 40).error() == Errc::kMisuse);
  CHECK(pair.producer().try_send(bytes_of(larger), 0) == Errc::kMisuse);
  CHECK(pair.producer().send(bytes_of(larger), 0) == Errc::kMisuse);
  CHECK(pair.producer().counters().messages_sent == 0);
  REQUIRE(pair.producer().try_send(bytes_of(largest), 0) == Errc::kOk);
  CHECK(pair.consumer().try_peek()->payload.size() == 400);
  REQUIRE(pair.consumer().release() == Errc::kOk);
  check_alive(pair);
}

TEST_CASE("A batch ends at the message that is too large, and sends those before it") {
  ChannelPair pair({.capacity = 1024, .message_bytes_max = 10});
  const std::array<Outgoing, 3> batch = {Outgoing{bytes_of("one"), 1},
                                         Outgoing{bytes_of("far too large"), 2},
                                         Outgoing{bytes_of("three"), 3}};
  const Result<std::size_t> sent = pair.producer().try_send_batch(batch);
  CHECK(sent.error() == Errc::kMisuse);
  CHECK(*sent == 1);
  CHECK(pair.consumer().try_peek()->type == 1);
  REQUIRE(pair.consumer().release() == Errc::kOk);
  CHECK(pair.consumer().try_peek().error() == Errc::kWouldBlock);
}

TEST_CASE("A commit of more than was claimed is refused, and the claim stays") {
  ChannelPair pair({});
  const auto claim = pair.producer().try_claim(8);
  REQUIRE(claim->size() == 8);
  CHECK(pair.producer().commit(9, 0) == Errc::kMisuse);
  CHECK_THAT(why(pair.producer()), Catch::Contains("9 bytes into a claim of 8"));
  CHECK(pair.producer().stage(9, 0) == Errc::kMisuse);
  CHECK(pair.consumer().try_peek().error() == Errc::kWouldBlock);
  CHECK(pair.producer().commit(8, 4) == Errc::kOk);
  CHECK(pair.consumer().try_peek()->type == 4);
}

TEST_CASE("A commit, a stage or an abort without a claim is refused") {
  ChannelPair pair({});
  CHECK(pair.producer().commit(0, 0) == Errc::kMisuse);
  CHECK(pair.producer().stage(0, 0) == Errc::kMisuse);
  CHECK(pair.producer().abort() == Errc::kMisuse);
  REQUIRE(pair.producer().try_claim(1).error() == Errc::kOk);
  REQUIRE(pair.producer().commit(1, 0) == Errc::kOk);
  CHECK(pair.producer().commit(1, 0) == Errc::kMisuse);  // a second time
  REQUIRE(pair.producer().try_claim(1).error() == Errc::kOk);
  REQUIRE(pair.producer().abort() == Errc::kOk);
  CHECK(pair.producer().commit(1, 0) == Errc::kMisuse);
  REQUIRE(pair.producer().try_claim(1).error() == Errc::kOk);
  CHECK(pair.producer().try_claim(std::size_t{1} << 40).error() == Errc::kMisuse);
  CHECK(pair.producer().commit(1, 0) == Errc::kMisuse);  // the previous claim was abandoned
  CHECK(pair.producer().counters().messages_sent == 1);
  CHECK(pair.producer().commit_staged() == Errc::kOk);  // nothing is staged, so it does nothing
}

TEST_CASE("A claim that found no room leaves nothing to commit") {
  ChannelPair pair({.capacity = 1024, .message_bytes_max = 400});
  while (pair.producer().try_send(bytes_of(std::string(400, 'x')), 0).ok()) {
  }
  CHECK(pair.producer().try_claim(400).error() == Errc::kWouldBlock);
  CHECK(pair.producer().commit(0, 0) == Errc::kMisuse);
  CHECK(pair.producer().claim(400, Deadline::now()).error() == Errc::kWouldBlock);
  CHECK(pair.producer().commit(0, 0) == Errc::kMisuse);
}

TEST_CASE("Bytes written into a claim that arm() aborted are not taken for a frame") {
  ChannelPair pair({.capacity = 1024, .message_bytes_max = 496});
  ChannelProducer& producer = pair.producer();
  REQUIRE(producer.try_send(bytes_of(std::string(496, 'x')), 1) == Errc::kOk);  // 512 bytes
  REQUIRE(producer.try_claim(8).error() == Errc::kOk);
  REQUIRE(producer.stage(8, 2) == Errc::kOk);  // up to 576
  const auto given_up = producer.try_claim(200);
  REQUIRE(given_up.ok());
  REQUIRE(producer.arm(496));  // no room, so staged messages are sent
  const Word imitation = FrameHeads(1024).at(640, FrameKind::kShort, 8, 99);
  std::memcpy(given_up->data() + (640 - 576 - kPayloadOffsetPacked), &imitation, sizeof imitation);
  CHECK(producer.commit(200, 3) == Errc::kMisuse);
  REQUIRE(producer.try_send(bytes_of("12345678"), 4) == Errc::kOk);
  for (const std::uint32_t type : {1u, 2u, 4u}) {
    const Result<Message> peek = pair.consumer().try_peek();
    REQUIRE(peek.ok());
    CHECK(peek->type == type);
    REQUIRE(pair.consumer().release() == Errc::kOk);
  }
  CHECK(pair.consumer().try_peek().error() == Errc::kWouldBlock);
}

TEST_CASE("A release of messages that are not borrowed is refused") {
  ChannelPair pair({});
  CHECK(pair.consumer().release() == Errc::kMisuse);
  REQUIRE(pair.producer().try_send(bytes_of("a"), 1) == Errc::kOk);
  REQUIRE(pair.producer().try_send(bytes_of("b"), 2) == Errc::kOk);
  CHECK(pair.consumer().release() == Errc::kMisuse);  // available, but not peeked
  REQUIRE(pair.consumer().try_peek()->type == 1);
  REQUIRE(pair.consumer().release() == Errc::kOk);
  CHECK(pair.consumer().release() == Errc::kMisuse);  // twice
  CHECK_THAT(why(pair.consumer()), Catch::Contains("already released"));
  CHECK(pair.consumer().try_peek()->type == 2);  // the second one was not lost
}

TEST_CASE("A batch can be released in parts, each message once") {
  ChannelPair pair({});
  for (std::uint32_t type = 1; type <= 5; ++type) {
    REQUIRE(pair.producer().try_send({}, type) == Errc::kOk);
  }
  std::array<Message, 4> batch;
  REQUIRE(*pair.consumer().try_peek_batch(batch) == 4);
  CHECK(pair.consumer().release(batch, 0) == Errc::kMisuse);
  CHECK(pair.consumer().release(batch, 5) == Errc::kMisuse);
  REQUIRE(pair.consumer().release(batch, 2) == Errc::kOk);
  CHECK(pair.consumer().release(batch, 2) == Errc::kMisuse);  // the same two again
  REQUIRE(pair.consumer().release(std::span(batch).subspan(2), 1) == Errc::kOk);
  REQUIRE(pair.consumer().release() == Errc::kOk);  // the rest of the batch
  CHECK(pair.consumer().release() == Errc::kMisuse);
  CHECK(pair.consumer().try_peek()->type == 5);
  CHECK(pair.consumer().counters().messages_received == 4);
}

TEST_CASE("A batch without room for a message is refused rather than waited for") {
  ChannelPair pair({});
  CHECK(pair.consumer().peek_batch({}).error() == Errc::kMisuse);
}

TEST_CASE("A message that does not fit the buffer is named, and stays") {
  ChannelPair pair({});
  REQUIRE(pair.producer().try_send(bytes_of("twelve bytes"), 1) == Errc::kOk);
  std::array<std::byte, 12> buffer;
  const Result<Received> refused = pair.consumer().try_receive(std::span(buffer).first(11));
  CHECK(refused.error() == Errc::kTooSmall);
  CHECK(errc_of(pair.consumer().status()) == Errc::kTooSmall);
  CHECK(refused->size == 12);
  CHECK_THAT(why(pair.consumer()), Catch::Contains("12") && Catch::Contains("11"));
  CHECK(pair.consumer().release() == Errc::kMisuse);  // it was not received
  CHECK(pair.consumer().try_receive(buffer).error() == Errc::kOk);
}

TEST_CASE("After its own close, all calls of an end are misuse") {
  ChannelPair pair({});
  REQUIRE(pair.producer().try_send(bytes_of("x"), 0) == Errc::kOk);
  const Result<Message> borrowed = pair.consumer().try_peek();
  pair.producer().close();
  pair.producer().close();
  CHECK(pair.producer().try_claim(1).error() == Errc::kMisuse);
  CHECK(pair.producer().commit(0, 0) == Errc::kMisuse);
  CHECK(pair.producer().commit_staged() == Errc::kMisuse);
  CHECK(pair.producer().drain() == Errc::kMisuse);
  CHECK_FALSE(pair.producer().arm(1));
  CHECK(errc_of(pair.producer().status()) == Errc::kClosed);
  pair.consumer().close();
  CHECK(text_of(borrowed->payload) == "x");  // valid until the object is destroyed
  CHECK(pair.consumer().try_peek().error() == Errc::kMisuse);
  CHECK(pair.consumer().release() == Errc::kMisuse);
  CHECK_FALSE(pair.consumer().arm());
  CHECK(errc_of(pair.consumer().status()) == Errc::kClosed);
}

TEST_CASE("An end that was moved from reports it") {
  ChannelPair pair({});
  ChannelProducer producer = std::move(pair.producer());
  ChannelConsumer consumer = std::move(pair.consumer());
  CHECK(pair.producer().try_send({}, 0) == Errc::kMisuse);
  CHECK(pair.producer().try_claim(1).error() == Errc::kMisuse);
  CHECK(pair.producer().send_batch({}).error() == Errc::kOk);
  CHECK(pair.producer().drain() == Errc::kMisuse);
  CHECK(pair.producer().fd() == -1);
  CHECK_THAT(why(pair.producer()), Catch::Contains("moved"));
  CHECK(pair.consumer().peek().error() == Errc::kMisuse);
  CHECK(pair.consumer().release() == Errc::kMisuse);
  CHECK(pair.consumer().counters().messages_received == 0);
  CHECK_THAT(why(pair.consumer()), Catch::Contains("moved"));
  pair.producer().close();
  REQUIRE(producer.try_send(bytes_of("on"), 0) == Errc::kOk);
  CHECK(text_of(consumer.try_peek()->payload) == "on");
}

TEST_CASE("A geometry that could block is refused, and one that works is named") {
  TemporaryDirectory directory;
  const std::string path = directory.path() + "/channel.sock";
  const auto refused = [&](const ChannelOptions& options) {
    const auto producer = ChannelProducer::connect(path, options, soon());
    REQUIRE_FALSE(producer.ok());
    CHECK(errc_of(producer.status()) == Errc::kInvalidArgument);
    return std::string(producer.status().message());
  };
  CHECK_THAT(refused({.capacity = 4096, .message_bytes_max = 4096}), Catch::Contains("16384"));
  CHECK_THAT(refused({.capacity = 5000, .message_bytes_max = 10}), Catch::Contains("power of two"));
  CHECK_THAT(refused({.capacity = 0, .message_bytes_max = 10}), Catch::Contains("capacity"));
  CHECK_THAT(refused({.capacity = 512, .message_bytes_max = 10}), Catch::Contains("1024"));
}

TEST_CASE("A capacity beyond the machine's memory is refused before anything is allocated") {
  if (all_memory() >= kChannelCapacityMax) {
    LAPWING_SKIP("this machine could hold the largest channel there is");
  }
  const TemporaryDirectory directory;
  const auto listener = ChannelListener::listen(directory.file("channel.sock"));
  REQUIRE(listener.ok());
  const auto producer = ChannelProducer::connect(
      listener->path(), {.capacity = kChannelCapacityMax, .message_bytes_max = 1000}, soon());
  REQUIRE_FALSE(producer.ok());
  CHECK(errc_of(producer.status()) == Errc::kNoSpace);
  CHECK_THAT(std::string(producer.status().message()), Catch::Contains("available"));
}

}  // namespace
}  // namespace lapwing
