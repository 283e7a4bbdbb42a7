#include "relay/out/standby.h"

#include <catch2/catch.hpp>

namespace lapwing {
namespace {

using Role = Standby::Role;
constexpr std::uint64_t kMs = 1'000'000;

// A standby that has heard an active out since `now_ns`.
Standby standby_since(std::uint64_t now_ns) {
  Standby standby;
  standby.step(0, 0, now_ns);
  standby.hear(5, now_ns);
  REQUIRE(standby.step(3, 5, now_ns) == Role::kStandby);
  return standby;
}

}  // namespace

TEST_CASE("A new out listens, and becomes active if it hears nobody") {
  Standby standby;
  CHECK(standby.step(0, 0, 1) == Role::kListening);
  CHECK(standby.step(0, 0, Standby::kListenNs) == Role::kListening);
  CHECK(standby.step(0, 0, 1 + Standby::kListenNs) == Role::kActive);
}

TEST_CASE("A standby takes over if head moves, and tail and sent do not for a second") {
  Standby standby = standby_since(1);
  for (std::uint64_t at = 1 + 100 * kMs; at < Standby::kTakeOverNs; at += 100 * kMs) {
    standby.hear(5, at);
    REQUIRE(standby.step(3, 6, at) == Role::kStandby);
  }
  standby.hear(5, 1 + Standby::kTakeOverNs);
  CHECK(standby.step(3, 6, 1 + Standby::kTakeOverNs) == Role::kActive);
}

TEST_CASE("A standby stays while the tail moves, or sent does, or head rests too") {
  Standby standby = standby_since(1);
  const int mover = GENERATE(0, 1, 2);
  std::uint64_t moving = 6;
  for (std::uint64_t at = 1; at < 10 * Standby::kTakeOverNs; at += 500 * kMs, ++moving) {
    standby.hear(mover == 1 ? moving : 5, at);
    REQUIRE(standby.step(mover == 0 ? moving : 3, mover == 2 ? 5 : moving, at) == Role::kStandby);
  }
}

TEST_CASE("A standby takes over from an out that has fallen silent, even at rest") {
  Standby standby = standby_since(1);
  CHECK(standby.step(3, 5, Standby::kSilenceNs) == Role::kStandby);
  CHECK(standby.step(3, 5, 1 + Standby::kSilenceNs) == Role::kActive);
}

TEST_CASE("An active out ignores beats, and stands by once its tail was moved") {
  Standby standby;
  standby.step(0, 0, 1);
  REQUIRE(standby.step(0, 0, 1 + Standby::kListenNs) == Role::kActive);
  standby.hear(9, 2 + Standby::kListenNs);
  CHECK(standby.role() == Role::kActive);
  standby.step_back(3 + Standby::kListenNs);
  CHECK(standby.role() == Role::kStandby);
  CHECK(standby.step(7, 9, 4 + Standby::kListenNs) == Role::kStandby);
}

}  // namespace lapwing
