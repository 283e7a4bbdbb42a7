#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "lapwing/error.h"
#include "testing/nats_client.h"
#include "testing/nats_fixture.h"

namespace lapwing {
namespace {

using Result = RelayAckResult;

std::string text_number(std::uint64_t i) {
  return "message " + std::to_string(i);
}

// Stores text_number(1) to text_number(last).
void store_all(RelayTransport& transport, std::uint64_t last) {
  for (std::uint64_t i = 0; i < last; ++i) {
    REQUIRE(transport.append(message(text_number(i + 1)), i).ok());
  }
  for (std::uint64_t i = 0; i < last; ++i) {
    const RelayAck ack = take_ack(transport);
    INFO(ack.reason);
    REQUIRE(ack.result == Result::kStored);
    REQUIRE(ack.expected_last == i);
    REQUIRE(ack.stream_sequence == i + 1);
  }
}

// The next messages of the stream are text_number(first) to text_number(last).
void check_stored(RelayTransport& transport, std::uint64_t first, std::uint64_t last) {
  for (std::uint64_t i = first; i <= last; ++i) {
    const Arrived arrived = take(transport);
    INFO(arrived.text);
    REQUIRE(arrived.kind == RelayArrivalKind::kStored);
    REQUIRE(arrived.stream_sequence == i);
    REQUIRE(arrived.text == text_number(i));
  }
}

RelayTail tail_of(RelayTransport& transport) {
  const auto tail = transport.tail(kHang);
  INFO(tail.status().ToString());
  REQUIRE(tail.ok());
  return *tail;
}

TEST_CASE("a stream of NATS: appends are acknowledged in order, and stored in order") {
  LAPWING_NEED_NATS_SERVER();
  const NatsServer server;
  const auto out = connected(server);
  open_stream(*out);
  store_all(*out, 1000);
  CHECK_FALSE(out->take_ack());
  const auto in = connected(server);
  REQUIRE(in->read_from(1, kHang).ok());
  check_stored(*in, 1, 1000);
}

TEST_CASE("a stream of NATS: an appended message also reaches listeners") {
  LAPWING_NEED_NATS_SERVER();
  const NatsServer server;
  const auto out = connected(server);
  const auto in = connected(server);
  open_stream(*out);
  listen(*in, {RelaySubject::kLog});
  tail_of(*in);
  store(*out, "both", 0);
  const Arrived arrived = take(*in);
  CHECK(arrived.kind == RelayArrivalKind::kPublished);
  CHECK(arrived.text == "both");
}

TEST_CASE(
    "a stream of NATS: an append after a wrong sequence is refused, and so are those behind it") {
  LAPWING_NEED_NATS_SERVER();
  const NatsServer server;
  const auto out = connected(server);
  open_stream(*out);
  store_all(*out, 3);
  for (const std::uint64_t expected : {std::uint64_t{5}, std::uint64_t{0}, std::uint64_t{2}}) {
    REQUIRE(out->append(message("wrong"), expected).ok());
    const RelayAck ack = take_ack(*out);
    CHECK(ack.result == Result::kWrongLast);
    CHECK(ack.expected_last == expected);
    CHECK(ack.reason == "wrong last sequence: 3");
  }
  CHECK(tail_of(*out).last == 3);
  for (std::uint64_t expected = 4; expected < 10; ++expected) {
    REQUIRE(out->append(message("behind"), expected).ok());
  }
  for (std::uint64_t expected = 4; expected < 10; ++expected) {
    const RelayAck ack = take_ack(*out);
    CHECK(ack.result == Result::kWrongLast);
    CHECK(ack.expected_last == expected);
  }
  store(*out, "right", 3);
}

TEST_CASE("a stream of NATS: an append after 0 is stored in an empty stream only") {
  LAPWING_NEED_NATS_SERVER();
  const NatsServer server;
  const auto out = connected(server);
  const auto standby = connected(server);
  open_stream(*out);
  open_stream(*standby);
  store(*out, "first", 0);
  REQUIRE(standby->append(message("first, too"), 0).ok());
  CHECK(take_ack(*standby).result == Result::kWrongLast);
  CHECK(tail_of(*standby).last == 1);
}

TEST_CASE("a stream of NATS: of two that append at once, each message is stored once") {
  LAPWING_NEED_NATS_SERVER();
  const NatsServer server;
  const auto first = connected(server);
  open_stream(*first);
  constexpr int kEach = 200;
  std::set<std::string> acknowledged[2];
  int refused[2] = {};
  const auto append_all = [&](RelayTransport& transport, int who) {
    for (int i = 0; i < kEach;) {
      const auto tail = transport.tail(kHang);
      const std::string text = std::to_string(who) + " " + std::to_string(i);
      if (!tail.ok() || !transport.append(message(text), tail->last).ok()) return;
      std::optional<RelayAck> ack;
      const Deadline hang = kHang;
      while (!(ack = transport.take_ack()) && !hang.has_passed()) {
        wait_readable(transport.fd(), 50 * kNsPerMs);
      }
      if (!ack || (ack->result != Result::kStored && ack->result != Result::kWrongLast)) return;
      refused[who] += ack->result == Result::kWrongLast;
      if (ack->result == Result::kStored) acknowledged[who].insert(text), ++i;
    }
  };
  const auto second = connected(server);
  std::thread other([&] { append_all(*second, 1); });
  append_all(*first, 0);
  other.join();
  REQUIRE(acknowledged[0].size() == kEach);
  REQUIRE(acknowledged[1].size() == kEach);
  CHECK(refused[0] + refused[1] > 0);  // else they were never at once
  REQUIRE(first->read_from(1, kHang).ok());
  std::set<std::string> stored;
  for (std::uint64_t i = 1; i <= 2 * kEach; ++i) {
    const Arrived arrived = take(*first);
    REQUIRE(arrived.stream_sequence == i);
    CHECK(stored.insert(arrived.text).second);
  }
  acknowledged[0].merge(acknowledged[1]);
  CHECK((stored == acknowledged[0]));
  CHECK(tail_of(*first).last == 2 * kEach);
}

TEST_CASE("a stream of NATS: a tail whose message is deleted is its sequence alone") {
  LAPWING_NEED_NATS_SERVER();
  const NatsServer server;
  const NatsClient client(server);
  const RelayNames names = test_names();
  const auto out = connected(server);
  client.request("$JS.API.STREAM.CREATE." + names.stream,
                 R"({"name":")" + names.stream + R"(","subjects":[")" + names.log + R"("]})");
  store_all(*out, 3);
  const std::string deleted =
      client.request("$JS.API.STREAM.MSG.DELETE." + names.stream, R"({"seq":3})");
  INFO(deleted);
  const RelayTail tail = tail_of(*out);
  CHECK(tail.last == 3);
  CHECK(tail.first == 1);
  CHECK(tail.message.empty());
  const absl::Status refused = out->open_stream(small_stream(), kHang);
  CHECK(errc_of(refused) == Errc::kInvalidArgument);
  CHECK(mentions(refused, "deny_delete is"));
}

TEST_CASE("a stream of NATS: the tail is the newest message, or its sequence alone") {
  LAPWING_NEED_NATS_SERVER();
  const NatsServer server;
  const auto out = connected(server);
  CHECK(errc_of(out->tail(kHang).status()) == Errc::kNotFound);
  RelayStreamOptions options = small_stream();
  options.age_max = std::chrono::seconds(1);
  REQUIRE(out->open_stream(options, kHang).ok());
  RelayTail tail = tail_of(*out);
  CHECK(tail.last == 0);
  CHECK(tail.first == 1);
  CHECK(tail.message.empty());
  const std::string large(kRelayMessageBytesMax, '\xff');
  store(*out, "1", 0);
  store(*out, large, 1);
  tail = tail_of(*out);
  CHECK(tail.last == 2);
  CHECK(tail.first == 1);
  CHECK((text_of(tail.message) == large));
  // Everything expires. The next append continues after it.
  const Deadline hang = kHang;
  while (!tail.message.empty() && !hang.has_passed()) tail = tail_of(*out);
  CHECK(tail.last == 2);
  CHECK(tail.first == 3);
  CHECK(tail.message.empty());
  store(*out, "3", 2);
}

TEST_CASE("a stream of NATS: a reading begins where it should and goes on with what is appended") {
  LAPWING_NEED_NATS_SERVER();
  const NatsServer server;
  const auto out = connected(server);
  const auto in = connected(server);
  CHECK(errc_of(in->read_from(1, kHang)) == Errc::kNotFound);
  open_stream(*out);
  store_all(*out, 20);
  REQUIRE(in->read_from(11, kHang).ok());
  for (std::uint64_t i = 11; i <= 20; ++i) {
    const Arrived arrived = take(*in);
    CHECK(arrived.stream_sequence == i);
    CHECK(arrived.stream_pending == 20 - i);
  }
  CHECK_FALSE(try_take(*in, Deadline::now()));
  store(*out, text_number(21), 20);
  check_stored(*in, 21, 21);
  // Another sequence; the rest of the first reading does not arrive.
  REQUIRE(in->read_from(1, kHang).ok());
  check_stored(*in, 1, 5);
  REQUIRE(in->read_from(3, kHang).ok());
  check_stored(*in, 3, 21);
  in->stop_reading();
  store(*out, text_number(22), 21);
  tail_of(*in);  // behind what was on its way
  CHECK_FALSE(try_take(*in, Deadline::now()));
  REQUIRE(in->read_from(0, kHang).ok());
  check_stored(*in, 1, 22);
  // The stream ends before it: the next message is the first one.
  REQUIRE(in->read_from(30, kHang).ok());
  store(*out, text_number(23), 22);
  check_stored(*in, 23, 23);
}

TEST_CASE("a stream of NATS: a reading that is idle for longer than its silence limit goes on") {
  LAPWING_NEED_NATS_SERVER();
  const NatsServer server;
  const auto out = connected(server);
  const auto in = connected(server);
  open_stream(*out);
  REQUIRE(in->read_from(1, kHang).ok());
  CHECK_FALSE(try_take(*in, std::chrono::milliseconds(3'500)));  // heartbeats alone
  store(*out, text_number(1), 0);
  check_stored(*in, 1, 1);
}

TEST_CASE("a stream of NATS: a slow reader loses nothing, even if the stream exceeds its inbox") {
  LAPWING_NEED_NATS_SERVER();
  const NatsServer server;
  const auto out = connected(server);
  const auto in = connected(server);
  open_stream(*out);
  constexpr std::uint64_t kMessages = 700;  // 175 MB
  const std::string body(250'000, 'x');
  for (std::uint64_t i = 0; i < kMessages; ++i) store(*out, text_number(i) + body, i);
  REQUIRE(in->read_from(1, kHang).ok());
  // Without flow control, everything would have come before the answers, and half of it been dropped.
  for (int i = 0; i < 100; ++i) tail_of(*in);
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    const Arrived arrived = take(*in);
    INFO(arrived.text.substr(0, 100));
    REQUIRE(arrived.kind == RelayArrivalKind::kStored);
    REQUIRE(arrived.stream_sequence == i + 1);
  }
  CHECK(in->dropped() == 0);
}

TEST_CASE("a stream of NATS: another configuration is refused with the difference") {
  LAPWING_NEED_NATS_SERVER();
  const NatsServer server;
  const auto out = connected(server);
  open_stream(*out);
  open_stream(*out);  // the same
  RelayStreamOptions options = small_stream();
  options.bytes_max += 1;
  absl::Status refused = out->open_stream(options, kHang);
  CHECK(errc_of(refused) == Errc::kInvalidArgument);
  CHECK(mentions(refused, "max_bytes is 268435456 and not 268435457"));
  CHECK(mentions(refused, test_names().stream));
  options = small_stream();
  options.age_max = std::chrono::hours(1);
  refused = out->open_stream(options, kHang);
  CHECK(mentions(refused, "max_age is 0 and not 3600000000000"));
  options = small_stream();
  options.replicas = 3;
  refused = out->open_stream(options, kHang);
  CHECK(mentions(refused, "num_replicas is 1 and not 3"));
}

TEST_CASE("a stream of NATS: the oldest messages are discarded at its limit") {
  LAPWING_NEED_NATS_SERVER();
  const NatsServer server;
  const auto out = connected(server);
  RelayStreamOptions options;
  options.bytes_max = 1 << 20;
  REQUIRE(out->open_stream(options, kHang).ok());
  const std::string body(100'000, 'x');
  for (std::uint64_t i = 0; i < 30; ++i) store(*out, body, i);
  const RelayTail tail = tail_of(*out);
  CHECK(tail.last == 30);
  CHECK(tail.first > 15);
  REQUIRE(out->read_from(1, kHang).ok());
  CHECK(take(*out).stream_sequence == tail.first);
}

TEST_CASE("a stream of NATS: an append without a stream ends with no-stream") {
  LAPWING_NEED_NATS_SERVER();
  const NatsServer server;
  const auto out = connected(server);
  REQUIRE(out->append(message("x"), 0).ok());
  const RelayAck ack = take_ack(*out);
  CHECK(ack.result == Result::kNoStream);
  CHECK(ack.expected_last == 0);
}

TEST_CASE("a stream of NATS: with a listener and no stream, an append times out") {
  LAPWING_NEED_NATS_SERVER();
  const NatsServer server;
  const auto out = connected(server);
  const auto in = connected(server);
  listen(*in, {RelaySubject::kLog});
  CHECK_FALSE(in->tail(kHang).ok());
  REQUIRE(out->append(message("x"), 7).ok());
  const RelayAck ack = take_ack(*out);
  CHECK(ack.result == Result::kTimedOut);
  CHECK(ack.expected_last == 7);
  CHECK_FALSE(out->take_ack());
}

TEST_CASE("a stream of NATS: a server without JetStream, or with another domain, is reported") {
  LAPWING_NEED_NATS_SERVER();
  const NatsServer plain("");
  const auto out = connected(plain);
  const absl::Status refused = out->open_stream(small_stream(), kHang);
  CHECK(errc_of(refused) == Errc::kUnsupported);
  CHECK(mentions(refused, "Enable JetStream there"));

  const NatsServer hub("jetstream { store_dir: $STORE, domain: hub }");
  NatsOptions options = options_for(hub);
  options.js_domain = "hub";
  const auto right = connected(options);
  open_stream(*right);
  store_all(*right, 10);
  REQUIRE(right->read_from(1, kHang).ok());
  check_stored(*right, 1, 10);
  options.js_domain = "other";
  CHECK(errc_of(connected(options)->open_stream(small_stream(), kHang)) == Errc::kUnsupported);
}

TEST_CASE("a stream of NATS: a server without room for it is reported") {
  LAPWING_NEED_NATS_SERVER();
  const NatsServer server("jetstream { store_dir: $STORE, max_file: 1MB }");
  const absl::Status refused = connected(server)->open_stream(small_stream(), kHang);
  CHECK(errc_of(refused) == Errc::kNoSpace);
  CHECK(mentions(refused, test_names().stream));
}

TEST_CASE("a stream of NATS: an append that the server cannot write ends with no-space") {
  LAPWING_NEED_NATS_SERVER();
  const NatsServer server;
  const auto out = connected(server);
  open_stream(*out);
  store(*out, "x", 0);
  // The next file of the stream cannot be made.
  std::filesystem::remove_all(server.store());
  std::ofstream(server.store()) << "in the way";
  const std::string body(250'000, 'x');
  std::optional<RelayAck> failed;
  for (std::uint64_t i = 1; i < 200 && !failed; ++i) {
    REQUIRE(out->append(message(body), i).ok());
    const RelayAck ack = take_ack(*out);
    if (ack.result != Result::kStored) failed = ack;
  }
  REQUIRE(failed);
  INFO(failed->reason);
  CHECK(failed->result == Result::kNoSpace);
  CHECK_FALSE(failed->reason.empty());
}

}  // namespace
}  // namespace lapwing
