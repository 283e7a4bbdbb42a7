#include "monitor/latency_window.h"
#include "os/kernel.h"

#include <catch2/catch.hpp>

namespace lapwing {
namespace {

TEST_CASE("A report that is alone says nothing of the last minute") {
  LatencyWindow window;
  Latency latency;
  latency.age_ns.add(775'000'000);
  CHECK_FALSE(window.add(kNsPerSecond, latency));
}

TEST_CASE("What happened before the window is not in it") {
  LatencyWindow window;
  Latency latency;
  latency.age_ns.add(775'000'000, 1'000);  // at the start; always included in the counts
  window.add(kNsPerSecond, latency);
  latency.age_ns.add(1'000, 10);
  std::optional<RecentLatency> recent = window.add(31 * kNsPerSecond, latency);
  REQUIRE(recent);
  CHECK(recent->over_ns == 30 * kNsPerSecond);
  CHECK(recent->age_ns.count() == 10);
  CHECK(recent->age_ns.percentile(0.99) < 2'000);
  for (std::uint64_t second = 36; second <= 91; second += 5) {
    latency.age_ns.add(2'000'000);
    recent = window.add(second * kNsPerSecond, latency);
  }
  REQUIRE(recent);
  CHECK(recent->over_ns >= kLatencyWindowNs);
  CHECK(recent->over_ns < kLatencyWindowNs + kLatencyStepNs);
  CHECK(recent->age_ns.percentile(0) > 1'000'000);  // the ten are no longer included
}

TEST_CASE("Ages beyond the last bucket keep the largest age") {
  LatencyWindow window;
  Latency latency;
  window.add(kNsPerSecond, latency);
  latency.age_ns.add(40 * kNsPerSecond);
  const std::optional<RecentLatency> recent = window.add(2 * kNsPerSecond, latency);
  REQUIRE(recent);
  CHECK(recent->age_ns.max() == 40 * kNsPerSecond);
}

}  // namespace
}  // namespace lapwing
