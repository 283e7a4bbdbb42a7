#include "relay/nats/stream_reading.h"

#include <catch2/catch.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "os/kernel.h"
#include "testing/relay_fixture.h"

namespace lapwing {
namespace {

NatsMessage make_message(const std::string& text, const std::string& reply_to) {
  REQUIRE(nats_Open(-1) == NATS_OK);  // messages are freed by a thread of libnats
  natsMsg* made = nullptr;
  const char* const reply = reply_to.empty() ? nullptr : reply_to.c_str();
  REQUIRE(natsMsg_Create(&made, "s", reply, text.data(), static_cast<int>(text.size())) == NATS_OK);
  return NatsMessage(made);
}
NatsMessage stored(std::uint64_t stream_sequence, std::uint64_t consumer_sequence,
                   const std::string& text = "x") {
  return make_message(
      text, absl::StrCat("$JS.ACK.S.c.1.", stream_sequence, ".", consumer_sequence, ".1.0"));
}
NatsMessage control(const char* status, const std::string& reply_to = {},
                    const char* last = nullptr, const char* stalled = nullptr) {
  NatsMessage made = make_message({}, reply_to);
  REQUIRE(natsMsgHeader_Set(made.get(), "Status", status) == NATS_OK);
  if (last != nullptr) natsMsgHeader_Set(made.get(), "Nats-Last-Consumer", last);
  if (stalled != nullptr) natsMsgHeader_Set(made.get(), "Nats-Consumer-Stalled", stalled);
  return made;
}

struct Reading {
  std::unique_ptr<NatsInbox> inbox = NatsInbox::make().value();
  StreamReading reading{*inbox};

  Reading() { reading.begin(1); }
  void receive(NatsMessage message) { reading.receive(std::move(message), 1); }
  std::optional<NatsArrival> take() { return inbox->take(); }
};

TEST_CASE("a reading: messages in order are kept, with their sequences") {
  Reading reading;
  reading.receive(stored(11, 1));
  reading.receive(stored(15, 2));  // the ones between were discarded from the stream
  for (const std::uint64_t sequence : {11U, 15U}) {
    const auto arrival = reading.take();
    REQUIRE(arrival);
    CHECK(arrival->kind == RelayArrivalKind::kStored);
    CHECK(arrival->stream_sequence == sequence);
    CHECK(reading.reading.is_current(*arrival));
  }
}

TEST_CASE("a reading: a missing message ends it, and nothing comes after that") {
  Reading reading;
  reading.receive(stored(1, 1));
  reading.receive(stored(3, 3));
  reading.receive(stored(4, 4));
  CHECK(reading.take()->stream_sequence == 1);
  const auto ended = reading.take();
  REQUIRE(ended);
  CHECK(ended->kind == RelayArrivalKind::kReadEnded);
  CHECK(ended->text == "the consumer's message 2 is missing");
  CHECK_FALSE(reading.take());
}

TEST_CASE("a reading: a heartbeat after a missing message ends it") {
  Reading reading;
  reading.receive(stored(1, 1));
  reading.receive(control("100", {}, "1"));
  CHECK(reading.take()->stream_sequence == 1);
  CHECK_FALSE(reading.take());
  reading.receive(control("100", {}, "2"));
  CHECK(reading.take()->kind == RelayArrivalKind::kReadEnded);
}

TEST_CASE("a reading: requests for flow control wait behind the messages before them") {
  Reading reading;
  reading.receive(stored(1, 1));
  reading.receive(control("100", "$JS.FC.S.c.abcd"));
  reading.receive(stored(2, 2));
  for (int i = 0; i < 3; ++i) {  // a stalled consumer repeats it
    reading.receive(control("100", {}, "2", "$JS.FC.S.c.efgh"));
  }
  CHECK(reading.take()->stream_sequence == 1);
  auto request = reading.take();
  CHECK(request->stream_sequence == 0);
  CHECK(request->text == "$JS.FC.S.c.abcd");
  CHECK(reading.take()->stream_sequence == 2);
  request = reading.take();
  CHECK(request->stream_sequence == 0);
  CHECK(request->text == "$JS.FC.S.c.efgh");
  CHECK_FALSE(reading.take());
}

TEST_CASE("a reading: the end of the consumer ends it with the server's reason") {
  Reading reading;
  NatsMessage deleted = control("409");
  natsMsgHeader_Set(deleted.get(), "Description", "Consumer Deleted");
  reading.receive(std::move(deleted));
  CHECK(reading.take()->text == "the server ends the reading: 409 Consumer Deleted");
}

TEST_CASE("a reading: silence ends it, heartbeats keep it") {
  Reading reading;
  constexpr std::uint64_t kSecond = kNsPerSecond;
  reading.reading.tick(2 * kSecond);
  reading.reading.receive(control("100", {}, "0"), 2 * kSecond);
  reading.reading.tick(4 * kSecond);
  CHECK_FALSE(reading.take());
  reading.reading.tick(5 * kSecond);
  CHECK(reading.take()->text == "the consumer is silent since 3000 ms");
  reading.reading.tick(9 * kSecond);
  CHECK_FALSE(reading.take());
}

TEST_CASE("a reading: a full inbox ends it, because a message is missing") {
  Reading reading;
  const std::string large(1 << 20, 'x');
  for (std::uint64_t i = 1; i <= 80; ++i) reading.receive(stored(i, i, large));
  std::uint64_t taken = 0;
  while (auto arrival = reading.take()) {
    if (arrival->kind == RelayArrivalKind::kReadEnded) {
      CHECK(arrival->text == "the inbox is full");
      CHECK_FALSE(reading.take());
      break;
    }
    CHECK(arrival->stream_sequence == ++taken);
  }
  CHECK(taken == 63);
}

TEST_CASE("a reading: messages of an earlier one are ignored") {
  Reading reading;
  reading.receive(stored(1, 1));
  reading.reading.set_consumer("first");
  CHECK(reading.reading.stop() == "first");
  CHECK(reading.reading.stop().empty());
  CHECK_FALSE(reading.reading.is_current(*reading.take()));
  reading.receive(stored(2, 2));
  CHECK_FALSE(reading.take());
  reading.reading.begin(1);
  reading.receive(stored(9, 1));
  const auto arrival = reading.take();
  CHECK(arrival->stream_sequence == 9);
  CHECK(reading.reading.is_current(*arrival));
}

}  // namespace
}  // namespace lapwing
