// Whole buses for the rows: a publisher whose helper threads stay off the measured core, and
// subscribers that are known to be attached before anything is measured.
//
// Thread safety: one thread. A bus lives in a directory of its own below Setting's, removed after
// its publisher has closed.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

#include "bench/machine.h"
#include "bench/private_directory.h"
#include "bench/rows.h"
#include "lapwing/publisher.h"
#include "lapwing/subscriber.h"
#include "testing/closing_publisher.h"

namespace lapwing::bench {

inline constexpr std::uint32_t kRecordBytes = 56;
inline constexpr std::uint32_t kSlotBytes = 64;
inline constexpr std::uint64_t kCapacity = std::uint64_t{1} << 20;  // what a user gets by default
inline constexpr std::uint64_t kCapacityQuick = std::uint64_t{1} << 14;
inline constexpr std::uint64_t kRetainBytes = std::uint64_t{1} << 30;

inline std::uint64_t capacity_for(const Setting& setting) {
  return setting.quick ? kCapacityQuick : kCapacity;
}

enum class Journal { kNone, kSynced, kSlowDisk };             // the last: see bench/slow_disk.h
inline constexpr std::uint64_t kSyncIntervalNs = 10'000'000;  // as by default

// Opens a publisher with its service and file threads on placement.second and leaves the caller,
// who will publish, on placement.first.
ClosingPublisher open_publisher(const Setting& setting, Placement placement,
                                const std::string& directory, Journal journal,
                                std::uint64_t sync_interval_ns = kSyncIntervalNs,
                                std::uint32_t record_bytes = kRecordBytes);

// For a bus without a journal: from the next record on, gaps reported and skipped.
SubscriberOptions subscriber_options(const std::string& directory, WaitStrategy wait);
// For the deadline of a busy wait: a side that fails must not leave the other one spinning.
inline constexpr std::chrono::seconds kHang{60};
// Returns once the subscriber has joined: what is published from now on, it gets or reports.
void await_join(Subscriber& subscriber);

// Fail the benchmark unless everything was published.
[[noreturn, gnu::cold]] void fail_as_said(const Publisher& publisher);
inline void publish_or_fail(Publisher& publisher, std::span<const std::byte> record) {
  if (!publisher.publish(record).ok()) fail_as_said(publisher);
}
template <typename Record>
  requires std::is_class_v<Record>
[[gnu::always_inline]] inline void publish_or_fail(Publisher& publisher, const Record& record) {
  if (!publisher.publish(record).ok()) fail_as_said(publisher);
}
inline void publish_batch_or_fail(Publisher& publisher, std::span<const std::byte> records) {
  if (!publisher.publish_batch(records).ok()) fail_as_said(publisher);
}

}  // namespace lapwing::bench
