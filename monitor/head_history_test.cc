#include "monitor/head_history.h"
#include "os/kernel.h"

#include <algorithm>
#include <catch2/catch.hpp>

namespace lapwing {
namespace {

// Sampled ten times per second, from second 100 on: one record per millisecond,
// except in the third second.
HeadHistory three_seconds() {
  HeadHistory history;
  for (std::uint64_t i = 0; i <= 30; ++i) {
    history.add(100 * kNsPerSecond + i * kSampleNs, 1'000 + 100 * std::min<std::uint64_t>(i, 20));
  }
  return history;
}

TEST_CASE("The rate is that of the window, or of what there is") {
  HeadHistory history;
  CHECK(history.rate(kNsPerSecond) == 0);
  history.add(kNsPerSecond, 5);
  CHECK(history.rate(kNsPerSecond) == 0);
  history.add(kNsPerSecond, 5);
  CHECK(history.rate(kNsPerSecond) == 0);
  CHECK(three_seconds().rate(kNsPerSecond) == Approx(0));
  CHECK(three_seconds().rate(2 * kNsPerSecond) == Approx(500));
  CHECK(three_seconds().rate(3600 * kNsPerSecond) == Approx(2'000 / 3.0));
}

TEST_CASE("When head reached a record is known from the first sample on") {
  const HeadHistory history = three_seconds();
  CHECK_FALSE(history.when_reached(1'000));
  CHECK(history.when_reached(1'500) == 100 * kNsPerSecond + kNsPerSecond / 2);
  CHECK(history.when_reached(1'050) == 100 * kNsPerSecond + kSampleNs / 2);
  CHECK(history.when_reached(3'000) == 102 * kNsPerSecond);
  CHECK_FALSE(history.when_reached(3'001));
  CHECK(history.since() == 100 * kNsPerSecond);
}

TEST_CASE("A head that is lower than the last one is of another history") {
  HeadHistory history = three_seconds();
  history.add(104 * kNsPerSecond, 2'999);
  CHECK(history.since() == 104 * kNsPerSecond);
  CHECK_FALSE(history.when_reached(1'500));
}

TEST_CASE("An hour is kept and no more") {
  HeadHistory history;
  for (std::uint64_t i = 0; i < kSamplesMax + 10; ++i) history.add(i * kSampleNs, i);
  CHECK(history.since() == 10 * kSampleNs);
  CHECK_FALSE(history.when_reached(10));
  CHECK(history.when_reached(11) == 11 * kSampleNs);
}

}  // namespace
}  // namespace lapwing
