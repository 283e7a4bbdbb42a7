#include "relay/in/asks.h"

#include <catch2/catch.hpp>

namespace lapwing {
namespace {

RelayAsk some_ask_to(RelayAskee to, std::uint64_t token) {
  RelayAsk ask{};
  ask.request = RelayRequest::kRecords;
  ask.first = token;
  ask.last = token;
  ask.token = token;
  ask.to = to;
  return ask;
}

}  // namespace

TEST_CASE("At most 64 asks are in flight") {
  Asks asks;
  for (RelayAskId id = 1; id <= Asks::kInFlightMax; ++id) {
    REQUIRE(asks.has_room());
    asks.sent(id, some_ask_to(RelayAskee::kOrigin, id), 0);
  }
  CHECK_FALSE(asks.has_room());
  REQUIRE(asks.finish(7));
  CHECK(asks.has_room());
}

TEST_CASE("An ask ends with its answer, once") {
  Asks asks;
  asks.sent(1, some_ask_to(RelayAskee::kOrigin, 5), 0);
  REQUIRE(asks.find(1) != nullptr);
  CHECK(asks.finish(1)->ask.token == 5);
  CHECK_FALSE(asks.finish(1));
  CHECK(asks.find(1) == nullptr);
  CHECK(asks.expired(10 * Asks::kOriginWaitNs).empty());
}

TEST_CASE("An ask without an answer ends after its wait, that of mirrors sooner") {
  Asks asks;
  asks.sent(1, some_ask_to(RelayAskee::kOrigin, 1), 0);
  asks.sent(2, some_ask_to(RelayAskee::kMirrors, 2), 0);
  CHECK(asks.next_due_ns() == Asks::kMirrorsWaitNs);
  CHECK(asks.expired(Asks::kMirrorsWaitNs - 1).empty());
  const std::vector<RelayAsk> first = asks.expired(Asks::kMirrorsWaitNs);
  REQUIRE(first.size() == 1);
  CHECK(first[0].token == 2);
  CHECK(asks.next_due_ns() == Asks::kOriginWaitNs);
  CHECK(asks.expired(Asks::kOriginWaitNs).size() == 1);
  CHECK_FALSE(asks.next_due_ns());
}

TEST_CASE("A part of an answer extends the wait") {
  Asks asks;
  asks.sent(1, some_ask_to(RelayAskee::kOrigin, 1), 0);
  asks.progress(1, 5);
  asks.progress(2, 5);  // of another connection
  CHECK(asks.expired(Asks::kOriginWaitNs).empty());
  CHECK(asks.expired(Asks::kOriginWaitNs + 5).size() == 1);
}

TEST_CASE("An answer that comes late is known, until the connection is lost") {
  Asks asks;
  asks.sent(1, some_ask_to(RelayAskee::kOrigin, 5), 0);
  CHECK(asks.expired(Asks::kOriginWaitNs).size() == 1);
  CHECK(asks.has_room());
  REQUIRE(asks.find(1) != nullptr);
  CHECK(asks.finish(1)->is_late);
  CHECK(asks.find(1) == nullptr);
  for (RelayAskId id = 2; id < 1'000; ++id) {
    asks.sent(id, some_ask_to(RelayAskee::kOrigin, id), 0);
    asks.expired(Asks::kOriginWaitNs);
  }
  CHECK(asks.find(2) == nullptr);
  CHECK(asks.find(999) != nullptr);
  asks.lost();
  CHECK(asks.find(999) == nullptr);
}

TEST_CASE("A lost connection ends all asks, and tokens are never used again") {
  Asks asks;
  const std::uint64_t token = asks.new_token();
  asks.sent(1, some_ask_to(RelayAskee::kOrigin, token), 0);
  CHECK(asks.lost().size() == 1);
  CHECK(asks.empty());
  CHECK(asks.new_token() != token);
}

}  // namespace lapwing
