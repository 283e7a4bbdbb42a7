// The conflated reader: of each key the newest record of an interval, for consumers that cannot or
// need not see every record, such as screens. It says of each record how many it stands for.
//
//   lapwing::Subscriber subscriber({.directory = "/run/es"});
//   lapwing::ConflatedReader reader(subscriber, {.interval_ns = 250'000'000});
//   for (;;) {
//     const lapwing::Item item = reader.wait(deadline_ns);
//     if (item.kind == lapwing::ItemKind::kRecord) draw(reader.record(), reader.conflated());
//   }
//
// An interval ends at each multiple of interval_ns on the clock. What waits then is delivered in
// the order of the sequences, of each key one record. Two things end an interval early: an event
// (a gap, a session, caught up, closed …), which so stands exactly where it belongs, behind all
// records before it and ahead of all after it; and a record of a new key while keys_max keys wait.
//
// Nothing is lost silently: records = delivered + conflated + waiting, at any time.
//
// Thread safety: one thread. Borrows the subscriber, and polls it alone. No allocation once the
// keys of an interval have been as many as they ever are; memory for keys_max of them at most.
// Errors: the subscriber's, as kEnded; and a schema that no key is known for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/subscriber.h"
#include "subscribers/conflation/conflation_table.h"

namespace lapwing {

inline constexpr std::uint32_t kConflationKeysMax = 65'536;
inline constexpr std::size_t kConflationBatchRecords = 256;

// What records are told apart by: `of` writes key_bytes bytes.
struct ConflationKey {
  std::uint32_t key_bytes = 0;
  std::function<void(std::span<const std::byte> record, std::span<std::byte> key)> of;
};

// That of the fold `latest`: instrument, instrument and side, or kv16's key. Errors:
// kInvalidArgument for a schema that has none.
absl::StatusOr<ConflationKey> latest_key(const std::string& schema);

struct ConflationOptions {
  std::uint64_t interval_ns = 250'000'000;  // above 0
  std::uint32_t keys_max = kConflationKeysMax;
  ConflationKey key = {};  // without `of`: latest_key() of the bus's schema
  // Nanoseconds of whatever clock the intervals follow; empty: CLOCK_MONOTONIC.
  std::function<std::uint64_t()> now_ns = {};
};

struct ConflationCounters {
  std::uint64_t records = 0;    // looked at
  std::uint64_t delivered = 0;  // given out as kRecord items
  std::uint64_t conflated = 0;  // replaced by newer ones of their keys
  std::uint64_t early = 0;      // intervals that keys_max ended
};

class ConflatedReader {
 public:
  ConflatedReader(Subscriber& subscriber, ConflationOptions options);
  ConflatedReader(const ConflatedReader&) = delete;
  ConflatedReader& operator=(const ConflatedReader&) = delete;

  // The next record or event if one is due now.
  Item poll();
  // The same, waiting until deadline_ns (CLOCK_MONOTONIC).
  Item wait(std::uint64_t deadline_ns);

  // The record of the last item that has one; valid until the next call.
  std::span<const std::byte> record() const { return record_; }
  // Of the last kRecord item: the older records of its key that it stands for, besides itself.
  std::uint64_t conflated() const { return conflated_; }
  // The schema of what was or is to be delivered; the subscriber may be ahead. Of its first record
  // on.
  const std::string& schema() const { return schema_; }
  // Keys whose newest record waits for the interval's end, and how long until then: for event
  // loops, which call poll() when the subscriber's descriptor is readable or this time is over.
  std::uint32_t waiting() const { return table_ ? table_->size() : 0; }
  std::uint64_t rest_ns() const;  // the largest number while nothing waits
  const ConflationCounters& counters() const { return counters_; }
  // Why nothing more will come (kEnded).
  const absl::Status& status() const { return failure_.ok() ? subscriber_.status() : failure_; }

 private:
  std::optional<Item> next();
  Item deliver();
  void put_batch();
  bool take_batch();
  void take(const Item& item);
  bool is_prepared() const;
  absl::Status prepare();
  bool interval_over(std::uint64_t now) const;

  Subscriber& subscriber_;
  const ConflationOptions options_;

  // Of the schema at hand.
  std::string schema_;
  std::uint32_t record_bytes_ = 0;
  ConflationKey key_;
  std::vector<std::byte> key_bytes_;  // of the record at hand
  std::optional<ConflationTable> table_;

  // Records that are not in the table yet.
  std::vector<std::byte> batch_;
  std::size_t batch_at_ = 0;   // bytes
  std::size_t batch_end_ = 0;  // bytes
  Sequence batch_next_ = kNoSequence;

  bool delivering_ = false;    // all that waits, before anything else is taken
  std::optional<Item> held_;   // an event that follows what is being delivered
  std::uint64_t ends_ns_ = 0;  // the interval, while something waits
  std::span<const std::byte> record_;
  std::uint64_t conflated_ = 0;
  ConflationCounters counters_;
  absl::Status failure_;
};

}  // namespace lapwing
