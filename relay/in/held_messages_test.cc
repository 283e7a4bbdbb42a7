#include "relay/in/held_messages.h"

#include <catch2/catch.hpp>

namespace lapwing {
namespace {

HeldMessage message(Sequence first, Sequence last, std::size_t bytes = 100) {
  HeldMessage held;
  held.header.first = first;
  held.header.count = static_cast<std::uint32_t>(last - first + 1);
  held.records.resize(bytes);
  return held;
}

using Ranges = std::vector<RelayRange>;

}  // namespace

TEST_CASE("A message is found by any of its sequences") {
  HeldMessages held;
  held.hold(0, message(10, 19));
  held.hold(0, message(12, 14));
  held.hold(7, message(10, 12));
  REQUIRE(held.find(0, 10) != nullptr);
  CHECK(held.find(0, 19)->header.first == 10);
  CHECK(held.find(0, 13)->header.first == 12);
  CHECK(held.find(0, 9) == nullptr);
  CHECK(held.find(0, 20) == nullptr);
  CHECK(held.find(7, 12)->header.count == 3);
  CHECK(held.find(7, 13) == nullptr);
  CHECK(held.find(8, 10) == nullptr);
}

TEST_CASE("Of two messages with the same first sequence the longer one is kept") {
  HeldMessages held;
  held.hold(0, message(10, 12));
  held.hold(0, message(10, 19));
  held.hold(0, message(10, 15));
  CHECK(held.find(0, 19) != nullptr);
}

TEST_CASE("What is applied is dropped, and the bytes are free again") {
  HeldMessages held;
  held.hold(0, message(1, 5));
  held.hold(3, message(10, 19));
  held.hold(3, message(20, 29));
  held.drop_before(3, 15);
  CHECK(held.find(0, 1) == nullptr);
  CHECK(held.find(3, 15) != nullptr);
  held.drop_before(3, 20);
  CHECK(held.find(3, 19) == nullptr);
  held.drop_session(3);
  CHECK(held.bytes() == 0);
}

TEST_CASE("When it is full, the messages that are needed last are dropped") {
  HeldMessages held(10'000);
  for (Sequence first = 1; first <= 100; first += 10) {
    held.hold(5, message(first, first + 9, 1'500));
    REQUIRE(held.bytes() <= 10'000);
  }
  CHECK(held.dropped() > 0);
  CHECK(held.find(5, 1) != nullptr);
  CHECK(held.find(5, 100) == nullptr);
  held.hold(0, message(900, 901, 9'000));  // of an earlier session
  CHECK(held.find(0, 900) != nullptr);
  CHECK(held.find(5, 1) == nullptr);
}

TEST_CASE("The gaps are what no message has") {
  HeldMessages held;
  CHECK(held.gaps(0, {1, 10}) == Ranges{{1, 10}});
  held.hold(0, message(3, 5));
  held.hold(0, message(5, 7));
  held.hold(0, message(10, 20));
  held.hold(1, message(1, 100));
  CHECK(held.gaps(0, {1, 30}) == Ranges{{1, 2}, {8, 9}, {21, 30}});
  CHECK(held.gaps(0, {4, 9}) == Ranges{{8, 9}});
  CHECK(held.gaps(0, {12, 15}).empty());
}

}  // namespace lapwing
