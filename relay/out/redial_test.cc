#include "relay/out/redial.h"

#include <catch2/catch.hpp>

namespace lapwing {

TEST_CASE("Pauses between connections double up to a second, and differ between relays") {
  Redial one(1);
  Redial other(2);
  CHECK(one.at_ns() == 0);
  bool differ = false;
  for (std::uint64_t pause_ns = Redial::kRedialNsMin, i = 0; i < 10; ++i) {
    one.failed(1000);
    other.failed(1000);
    CHECK(one.at_ns() >= 1000 + pause_ns / 2);
    CHECK(one.at_ns() <= 1000 + pause_ns);
    differ = differ || one.at_ns() != other.at_ns();
    pause_ns = std::min(2 * pause_ns, Redial::kRedialNsMax);
  }
  CHECK(differ);
}

TEST_CASE("Only a connection that lasted makes the next pause short again") {
  Redial redial(1);
  for (int i = 0; i < 10; ++i) redial.failed(1);
  redial.connected(1);
  redial.failed(2);
  CHECK(redial.at_ns() >= 2 + Redial::kRedialNsMax / 2);
  redial.connected(2);
  redial.failed(2 + Redial::kSteadyNs);
  CHECK(redial.at_ns() <= 2 + Redial::kSteadyNs + Redial::kRedialNsMin);
}

}  // namespace lapwing
