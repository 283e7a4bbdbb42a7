#include "lapwing/detail/publish_clock.h"

#include <catch2/catch.hpp>
#include <cstdlib>

#include "os/kernel.h"

namespace lapwing::detail {
namespace {

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kUtc = 1'700'000'000'000'000'000;

// A 4 GHz counter and clocks that agree with it.
ClockLook at_ms(std::uint64_t ms) {
  return {1000 + 4 * ms * kMs, kUtc + ms * kMs, 77 + ms * kMs};
}

TEST_CASE("A scale covers nothing until two looks ten milliseconds apart give its rate") {
  TickScale scale;
  CHECK_FALSE(scale.covers(at_ms(0).ticks));
  scale.add(at_ms(0));
  CHECK_FALSE(scale.covers(at_ms(1).ticks));
  scale.add(at_ms(9));
  CHECK_FALSE(scale.covers(at_ms(9).ticks));
  scale.add(at_ms(10));
  CHECK(scale.covers(at_ms(10).ticks));
  CHECK(scale.utc_ns(at_ms(10).ticks) == kUtc + 10 * kMs);
  CHECK(scale.utc_ns(at_ms(30).ticks) == kUtc + 30 * kMs);
}

TEST_CASE("A scale covers 50 ms from its last look, and nothing before it") {
  TickScale scale;
  scale.add(at_ms(0));
  scale.add(at_ms(10));
  CHECK(scale.covers(at_ms(60).ticks - 10));
  CHECK_FALSE(scale.covers(at_ms(60).ticks + 10));
  CHECK_FALSE(scale.covers(at_ms(10).ticks - 1));
  scale.add(at_ms(60));
  CHECK(scale.covers(at_ms(100).ticks));
  CHECK(scale.utc_ns(at_ms(100).ticks) == kUtc + 100 * kMs);
}

TEST_CASE("A clock that was set is followed at the next look, with the same rate") {
  TickScale scale;
  scale.add(at_ms(0));
  scale.add(at_ms(10));
  ClockLook set = at_ms(60);
  set.utc_ns -= 5000 * kMs;
  scale.add(set);
  CHECK(scale.covers(at_ms(80).ticks));
  CHECK(scale.utc_ns(at_ms(80).ticks) == kUtc + 80 * kMs - 5000 * kMs);
}

TEST_CASE("A counter that changes its rate, stands still, runs back or is slow is not believed") {
  TickScale scale;
  scale.add(at_ms(0));
  ClockLook next = at_ms(60);
  SECTION("another rate than before") {
    scale.add(at_ms(10));
    next.ticks += kMs;  // 1 in 200
  }
  SECTION("still") {
    next.ticks = at_ms(0).ticks;
  }
  SECTION("back") {
    next.ticks = at_ms(0).ticks - 1;
  }
  SECTION("less than a tick a nanosecond") {
    next.ticks = at_ms(0).ticks + 60 * kMs - 1;
  }
  scale.add(next);
  CHECK_FALSE(scale.covers(next.ticks));
  CHECK_FALSE(scale.covers(next.ticks + 1));
}

TEST_CASE("A steered clock is no other rate") {
  TickScale scale;
  scale.add(at_ms(0));
  scale.add(at_ms(10));
  ClockLook steered = at_ms(60);
  steered.monotonic_ns += 50 * kMs / 2000;  // 500 parts in a million
  scale.add(steered);
  CHECK(scale.covers(steered.ticks));
}

TEST_CASE("The clock agrees with the system's, before its counter is calibrated and after") {
  constexpr std::uint64_t kOff = 100'000;
  const auto utc_ahead_ns = [] { return static_cast<std::int64_t>(wall_ns() - monotonic_ns()); };
  for (;;) {
    PublishClock clock;
    const std::int64_t ahead_before = utc_ahead_ns();
    bool agrees = true;
    for (const std::uint64_t ends = monotonic_ns() + 200 * kMs; monotonic_ns() < ends;) {
      const std::uint64_t before = wall_ns();
      const std::uint64_t stamp = clock.utc_ns();
      agrees = agrees && stamp + kOff >= before && stamp <= wall_ns() + kOff;
    }
    const bool was_set = std::abs(utc_ahead_ns() - ahead_before) > static_cast<std::int64_t>(kOff);
    REQUIRE((agrees || was_set));  // if the clock was set in between, try again
    if (agrees) return;
  }
}

}  // namespace
}  // namespace lapwing::detail
