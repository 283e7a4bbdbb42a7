#include "subscribers/distance.h"

#include <catch2/catch.hpp>

namespace lapwing {
namespace {

constexpr std::uint64_t kMin = kPausesMin;
constexpr std::uint64_t kMax = Distance::kPausesMax;
constexpr std::uint64_t kPer = Distance::kBusyRecordsPerPause;

// Makes the pauses after a read of `records` records that found the end, and returns their number.
std::uint64_t after(Distance& distance, std::uint64_t records) {
  distance.on_read(records, true);
  const std::uint64_t pauses = distance.pauses();
  CHECK(distance.is_due() == (pauses > 0));
  distance.keep();
  CHECK_FALSE(distance.is_due());
  return pauses;
}

TEST_CASE("A reader pauses after a run of records, but not while they trickle") {
  Distance distance;
  CHECK(after(distance, 0) == 0);
  CHECK(after(distance, kRunMin - 1) == 0);
  CHECK(after(distance, kRunMin) == kMin);
  CHECK(after(distance, 0) == 0);
}

TEST_CASE("Reads that filled their room belong to the run that ends later") {
  Distance distance;
  distance.on_read(kRunMin - 1, false);
  CHECK_FALSE(distance.is_due());
  CHECK(after(distance, 1) == kMin);
  CHECK(after(distance, kRunMin - 1) == 0);
}

TEST_CASE("The pause doubles up to a limit while each yields records at full speed") {
  Distance distance;
  CHECK(after(distance, 1'000'000) == kMin);
  for (std::uint64_t pauses = kMin; pauses < kMax; pauses *= 2) {
    CHECK(after(distance, kPer * pauses) == 2 * pauses);
  }
  CHECK(after(distance, kPer * kMax) == kMax);
}

TEST_CASE("A slower publisher halves the pause, and a trickle ends it at once") {
  Distance distance;
  while (after(distance, kPer * kMax) < kMax) continue;
  CHECK(after(distance, kPer * kMax - 1) == kMax / 2);
  CHECK(after(distance, kRunMin) == kMax / 4);
  CHECK(after(distance, kRunMin - 1) == 0);
  CHECK(after(distance, kPer * kMax) == kMin);
}

TEST_CASE("No pause is due after a poll that found nothing, because time has passed") {
  Distance distance;
  distance.on_read(kRunMin, true);
  distance.time_has_passed();
  CHECK_FALSE(distance.is_due());
  CHECK(distance.pauses() == 0);
}

}  // namespace
}  // namespace lapwing
