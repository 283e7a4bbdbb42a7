#include "proto/ring_counters.h"

#include <catch2/catch.hpp>

namespace lapwing {
namespace {

TEST_CASE("A duration is counted where it is at most the limit and above the one before") {
  CHECK(duration_count_of(0) == 0);
  for (std::size_t i = 0; i + 1 < kDurationCounts; ++i) {
    CAPTURE(i);
    CHECK(duration_count_of(duration_limit_ns(i)) == i);
    CHECK(duration_count_of(duration_limit_ns(i) + 1) == i + 1);
  }
  CHECK(duration_limit_ns(0) == 1'000);
  CHECK(duration_limit_ns(22) == 4'194'304'000);
  CHECK(duration_count_of(~std::uint64_t{0}) == kDurationCounts - 1);
}

TEST_CASE("Durations that are loaded are those that were stored") {
  Durations durations;
  for (std::size_t i = 0; i < kDurationCounts; ++i) {
    for (std::size_t n = 0; n <= i; ++n) durations.add(duration_limit_ns(i));
  }
  RingDurations words{};
  store_durations(words, durations);
  CHECK(load_durations(words) == durations);
  CHECK(durations.counts[3] == 4);
  CHECK(durations.count() == kDurationCounts * (kDurationCounts + 1) / 2);
  CHECK(durations.sum_ns > kDurationCounts * duration_limit_ns(kDurationCounts - 1));
}

}  // namespace
}  // namespace lapwing
