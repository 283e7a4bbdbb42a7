// Complete buses for the rows: a publisher whose helper threads do not run on the measured core,
// and subscribers that attach before the measurement begins.
//
// Thread safety: one thread. Each bus has its own directory below the one in Setting. It is removed
// after the publisher has closed.
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
inline constexpr std::uint64_t kCapacity = std::uint64_t{1} << 20;  // the default for users
inline constexpr std::uint64_t kCapacityQuick = std::uint64_t{1} << 14;
inline constexpr std::uint64_t kRetainBytes = std::uint64_t{1} << 30;

inline std::uint64_t capacity_for(const Setting& setting) {
  return setting.quick ? kCapacityQuick : kCapacity;
}

enum class Journal { kNone, kSynced, kSlowDisk };             // for the last, see bench/slow_disk.h
inline constexpr std::uint64_t kSyncIntervalNs = 10'000'000;  // the default

// Opens a publisher with its service and file threads on placement.second. Leaves the calling
// thread, which will publish, on placement.first.
ClosingPublisher open_publisher(const Setting& setting, Placement placement,
                                const std::string& directory, Journal journal,
                                std::uint64_t sync_interval_ns = kSyncIntervalNs,
                                std::uint32_t record_bytes = kRecordBytes);

// For a bus without a journal: starts with the next record; gaps are reported and skipped.
SubscriberOptions subscriber_options(const std::string& directory, WaitStrategy wait);
// Deadline of busy waits, so that a side does not spin forever if the other one fails.
inline constexpr std::chrono::seconds kHang{60};
// Returns when the subscriber has joined. It receives or reports every later record.
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
