#include "snapshot/archive/sync_schedule.h"

#include <catch2/catch.hpp>

namespace lapwing {
namespace {

constexpr JournalGeometry kGeometry{.slot_bytes = 64, .record_bytes = 56, .segment_slots = 1024};
constexpr std::uint64_t kIntervalNs = 10'000'000;

using Progress = SyncSchedule::Progress;

TEST_CASE("A partial block is due after a millisecond without a record, not before") {
  SyncSchedule schedule(kGeometry, 0);
  Progress progress{.head = 5};
  schedule.observe(progress, 100);
  CHECK_FALSE(schedule.partial_due(progress, 100 + kIdlePartialNs - 1));
  CHECK(schedule.partial_due(progress, 100 + kIdlePartialNs));
  CHECK(schedule.next_ns(progress, 100) == 100 + kIdlePartialNs);
  progress.head = 6;
  schedule.observe(progress, 200);
  CHECK_FALSE(schedule.partial_due(progress, 100 + kIdlePartialNs));
  progress.submitted = 6;
  CHECK_FALSE(schedule.partial_due(progress, 200 + kIdlePartialNs));
  CHECK(schedule.next_ns(progress, 200) == UINT64_MAX);
}

TEST_CASE("The interval starts with the first record that no sync covers") {
  SyncSchedule schedule(kGeometry, kIntervalNs);
  Progress progress{};
  schedule.observe(progress, 500);
  CHECK(schedule.next_ns(progress, 500) == UINT64_MAX);
  progress = {.head = 3, .submitted = 3, .archived = 3};
  schedule.observe(progress, 1000);
  CHECK(schedule.next_ns(progress, 1000) == 1000 + kIntervalNs);
  schedule.observe(progress, 1000 + kIntervalNs - 1);
  CHECK_FALSE(schedule.sync_due(progress, 1000 + kIntervalNs - 1));
  schedule.observe(progress, 1000 + kIntervalNs);
  CHECK(schedule.sync_due(progress, 1000 + kIntervalNs));
  schedule.begun(progress, 1000 + kIntervalNs);
  progress.covered = 3;
  schedule.observe(progress, 1000 + kIntervalNs);
  CHECK_FALSE(schedule.sync_due(progress, 1000 + 5 * kIntervalNs));
  CHECK(schedule.next_ns(progress, 1000 + kIntervalNs) == UINT64_MAX);
}

TEST_CASE("A sync waits for the partial block it is for, but not for a disk that lags behind") {
  SyncSchedule schedule(kGeometry, kIntervalNs);
  Progress progress{.head = 70, .submitted = 64, .archived = 64};
  schedule.observe(progress, 0);
  schedule.observe(progress, kIntervalNs);
  CHECK(schedule.partial_due(progress, kIntervalNs));
  CHECK_FALSE(schedule.sync_due(progress, kIntervalNs));
  progress.head = 90;  // more records have arrived; the sync does not wait for them
  progress.submitted = 70;
  schedule.observe(progress, kIntervalNs + 1);
  CHECK_FALSE(schedule.sync_due(progress, kIntervalNs + 1));
  CHECK(schedule.next_ns(progress, kIntervalNs + 1) <= 2 * kIntervalNs);
  SECTION("archived in time") {
    progress.archived = 70;
    CHECK(schedule.sync_due(progress, kIntervalNs + 2));
  }
  SECTION("not archived within one more interval") {
    CHECK(schedule.sync_due(progress, 2 * kIntervalNs));
  }
}

TEST_CASE("A flush is due at once and waits for its sequence, clamped to head") {
  SyncSchedule schedule(kGeometry, 0);
  Progress progress{.head = 100, .submitted = 64, .archived = 64};
  schedule.observe(progress, 0);
  CHECK_FALSE(schedule.partial_due(progress, 1));
  schedule.request_flush(1'000'000);
  CHECK(schedule.partial_due(progress, 1));
  CHECK_FALSE(schedule.sync_due(progress, 1));
  progress.submitted = progress.archived = 100;
  CHECK(schedule.sync_due(progress, 1));
  progress.covered = 100;
  CHECK_FALSE(schedule.sync_due(progress, 1));
}

TEST_CASE("A full segment is synced without a request") {
  SyncSchedule schedule(kGeometry, 0);
  Progress progress{.head = 1100, .submitted = 1088, .archived = 1023, .covered = 10};
  schedule.observe(progress, 0);
  CHECK_FALSE(schedule.sync_due(progress, 1));
  progress.archived = 1024;
  CHECK(schedule.sync_due(progress, 1));
  progress.covered = 1024;
  progress.archived = 1088;
  CHECK_FALSE(schedule.sync_due(progress, 1));
}

}  // namespace
}  // namespace lapwing
