#include "relay/out/log_sender.h"

#include <catch2/catch.hpp>

namespace lapwing {
namespace {

RelayAck stored(std::uint64_t expected_last) {
  return {RelayAckResult::kStored, expected_last, expected_last + 1, ""};
}
RelayAck failed(std::uint64_t expected_last, RelayAckResult result) {
  return {result, expected_last, 0, "why"};
}

// Follows a stream of `last` messages and has `count` appends of 100 bytes in flight. The sum of
// message n is n.
LogSender with_appends(std::uint64_t last, std::uint64_t count) {
  LogSender sender;
  REQUIRE(sender.wants_tail(1));
  REQUIRE(sender.take_tail(last, last) == TailOwner::kOurs);
  for (std::uint64_t i = 0; i < count; ++i) {
    REQUIRE(sender.expected_last() == last + i);
    sender.add(100, last + i + 1, 1);
  }
  return sender;
}

}  // namespace

TEST_CASE("Appends are numbered from the tail, and an ack confirms all before it") {
  LogSender sender = with_appends(7, 3);
  CHECK(sender.in_flight() == 3);
  sender.take_ack(stored(8), 2);
  CHECK(sender.in_flight() == 1);
  // The ack of the first one was lost, and it timed out.
  sender.take_ack(failed(7, RelayAckResult::kTimedOut), 3);
  CHECK(sender.is_following());
  sender.take_ack(stored(9), 4);
  CHECK(sender.in_flight() == 0);
}

TEST_CASE("At most 1,024 messages and 32 MiB are in flight") {
  LogSender sender = with_appends(0, kAppendsMax - 1);
  CHECK(sender.has_room(100));
  sender.add(100, 1, 1);
  CHECK_FALSE(sender.has_room(100));
  LogSender large = with_appends(0, 0);
  large.add(kAppendBytesMax - 100, 1, 1);
  CHECK(large.has_room(100));
  CHECK_FALSE(large.has_room(101));
}

TEST_CASE("After any failure the tail is read, but only once every ack is in") {
  const auto result =
      GENERATE(RelayAckResult::kWrongLast, RelayAckResult::kTimedOut, RelayAckResult::kNoSpace,
               RelayAckResult::kNoStream, RelayAckResult::kRefused);
  LogSender sender = with_appends(7, 2);
  sender.take_ack(failed(7, result), 2);
  CHECK_FALSE(sender.is_following());
  CHECK_FALSE(sender.has_room(1));
  CHECK_FALSE(sender.wants_tail(10 * kRetryNsMax));
  sender.take_ack(failed(8, result), 2);
  CHECK(sender.wants_tail(10 * kRetryNsMax));
  CHECK(sender.lacks_stream() == (result == RelayAckResult::kNoStream));
}

TEST_CASE("After a failure one message is tried until the stream stores one") {
  LogSender sender = with_appends(7, 1);
  sender.take_ack(failed(7, RelayAckResult::kNoSpace), 2);
  REQUIRE(sender.take_tail(7, 7) == TailOwner::kOurs);
  CHECK(sender.has_room(1));
  sender.add(100, 8, 3);
  CHECK_FALSE(sender.has_room(1));
  sender.take_ack(stored(7), 4);
  sender.add(100, 9, 5);
  CHECK(sender.has_room(1));
}

TEST_CASE("Pauses between looks at a stream that fails double up to two seconds") {
  LogSender sender = with_appends(7, 1);
  sender.take_ack(failed(7, RelayAckResult::kTimedOut), 1000);
  CHECK(sender.retry_at_ns() == 1000 + kRetryNsMin);
  sender.fail_tail(1000);
  CHECK(sender.retry_at_ns() == 1000 + 2 * kRetryNsMin);
  for (int i = 0; i < 10; ++i) sender.fail_tail(1000);
  CHECK(sender.retry_at_ns() == 1000 + kRetryNsMax);
}

TEST_CASE("A tail that this sender has sent is its own, acknowledged or not") {
  for (const std::uint64_t tail : {7u, 8u, 9u}) {
    LogSender sender = with_appends(7, 2);
    sender.disconnect();
    CHECK(sender.in_flight() == 0);
    CHECK(sender.take_tail(tail, tail) == TailOwner::kOurs);
    CHECK(sender.expected_last() == tail);
  }
}

TEST_CASE("A tail with a message of another sum is another sender's") {
  for (const std::uint64_t tail : {8u, 9u, 10u}) {
    LogSender sender = with_appends(7, 2);
    sender.take_ack(stored(7), 2);
    sender.disconnect();
    CHECK(sender.take_tail(tail, 1000) == TailOwner::kAnother);
    CHECK_FALSE(sender.is_following());
    sender.take_over();
    CHECK(sender.take_tail(tail, 1000) == TailOwner::kOurs);
  }
}

TEST_CASE("A stream with fewer messages than were acknowledged was restored") {
  LogSender sender = with_appends(7, 2);
  sender.take_ack(stored(8), 2);
  sender.doubt();
  CHECK(sender.take_tail(3, 1000) == TailOwner::kOlder);
  CHECK(sender.expected_last() == 3);
  sender.disconnect();
  CHECK(sender.take_tail(0, 0) == TailOwner::kOlder);
}

TEST_CASE("A full window without an ack for a quarter of a second is a stall") {
  LogSender sender = with_appends(0, kAppendsMax);
  CHECK_FALSE(sender.is_stalled(kStallNs));
  CHECK(sender.is_stalled(1 + kStallNs));
  sender.take_ack(stored(0), 1 + kStallNs);
  CHECK_FALSE(sender.is_stalled(1 + kStallNs));
}

}  // namespace lapwing
