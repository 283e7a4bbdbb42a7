// The conflated reader delivers the newest record of each key once per interval, for consumers that
// cannot or need not see every record, such as displays. Each record comes with the number of older
// records that it replaces.
//
//   auto reader = lapwing::ConflatedReader::open({.directory = "./es"},
//                                                {.interval = std::chrono::milliseconds(250)});
//   for (;;) {
//     const auto item = reader->next();
//     if (!item.ok()) return reader->status();
//     if (item->kind == lapwing::ItemKind::kRecord) draw(item->record, item->conflated);
//   }
//
// An interval ends at each multiple of `interval` on the clock. The waiting records are then
// delivered in sequence order, one for each key. Two things end an interval early: an event (a gap,
// a session, caught up …), and a record of a new key while keys_max keys are waiting. An event is
// therefore delivered after all records before it, and before all records after it.
//
// Nothing is lost silently: at any time, records = delivered + conflated + waiting.
//
// Threads, forks: as for Subscriber; waiting() is 0 in a forked child. Holds at most keys_max keys
// in memory. Does not allocate once the number of keys per interval has peaked.
// Errors: those of Subscriber; kInvalidArgument if the description has no key.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/schema.h"
#include "lapwing/subscriber.h"

namespace lapwing {

inline constexpr std::uint32_t kConflationKeysMax = 65'536;

// The key of a record: `of` writes key_bytes bytes.
struct ConflationKey {
  std::uint32_t key_bytes = 0;
  std::function<void(std::span<const std::byte> record, std::span<std::byte> key)> of = {};
};

// Returns the key of the fold `latest`: the fields that the description marks as keys. For DBN
// these are publisher and instrument, plus side for market by order. Errors: kInvalidArgument for a
// description without a key.
[[nodiscard]] absl::StatusOr<ConflationKey> latest_key(const Schema& schema);
// The same for a schema that Lapwing ships. Errors: kInvalidArgument for any other schema.
[[nodiscard]] absl::StatusOr<ConflationKey> latest_key(const std::string& schema);

struct ConflationOptions {
  std::chrono::nanoseconds interval = std::chrono::milliseconds(250);
  std::uint32_t keys_max = kConflationKeysMax;
  ConflationKey key = {};  // default: latest_key() of the bus's records
  // Returns the time in ns on the clock that the intervals follow; empty: CLOCK_MONOTONIC.
  std::function<std::uint64_t()> now_ns = {};
};

struct ConflationCounters {
  std::uint64_t records = 0;    // read from the bus
  std::uint64_t delivered = 0;  // as records
  std::uint64_t conflated = 0;  // replaced by newer records of their keys
  std::uint64_t early = 0;      // intervals ended early by keys_max
};

// The result of read_one().
struct ConflatedSequence {
  Sequence sequence = kNoSequence;
  std::uint64_t conflated = 0;  // as in Item
};

class ConflatedReader {
 public:
  // Errors: those of Subscriber::open; kInvalidArgument for an interval or keys_max that is not
  // above 0, and for key_bytes without `of`.
  [[nodiscard]] static absl::StatusOr<ConflatedReader> open(SubscriberOptions subscriber,
                                                            ConflationOptions options);
  ConflatedReader(ConflatedReader&&) noexcept;
  ConflatedReader& operator=(ConflatedReader&&) noexcept;
  ~ConflatedReader();

  // These work as in Subscriber. Item, ConflatedSequence and Batch contain the number of older
  // records that were replaced. The records of an interval are not consecutive, so a batch without
  // columns has one record. read_event() returns an event after the records of its interval.
  [[nodiscard]] Result<Item> next(Deadline deadline = Deadline::never());
  [[nodiscard]] Result<ConflatedSequence> read_one(std::span<std::byte> record,
                                                   Deadline deadline = Deadline::never());
  template <ReadableRecord Record>
  [[nodiscard]] Result<ConflatedSequence> read_one(Record& record,
                                                   Deadline deadline = Deadline::never()) {
    return read_one(std::as_writable_bytes(std::span(&record, 1)), deadline);
  }
  [[nodiscard]] Result<Event> read_event();
  [[nodiscard]] Result<Batch> read(std::span<std::byte> rows,
                                   Deadline deadline = Deadline::never());
  // Returns all records of an interval in one batch, as many as fit. The columns receive the
  // sequence of each row and the number of older records that it replaces. A batch has at most as
  // many rows as the shorter column has elements.
  [[nodiscard]] Result<Batch> read(std::span<std::byte> rows, std::span<Sequence> sequences,
                                   std::span<std::uint64_t> conflated,
                                   Deadline deadline = Deadline::never());
  void interrupt() noexcept;

  // The number of keys whose newest record is waiting for the interval to end, and the time left.
  // In an event loop, read when the descriptor is readable or this time has passed.
  [[nodiscard]] std::uint32_t waiting() const;
  [[nodiscard]] std::chrono::nanoseconds interval_left() const;  // max() if nothing is waiting
  [[nodiscard]] ConflationCounters counters() const;
  // Why reading has ended: the schema has no known key, or Subscriber::status().
  [[nodiscard]] const absl::Status& status() const;
  // The subscriber that is read: position, counters, descriptor. Do not read records from it.
  [[nodiscard]] const Subscriber& subscriber() const;
  [[nodiscard]] absl::StatusOr<int> fd();
  [[nodiscard]] bool arm();

 private:
  friend struct ConflationAccess;
  struct State;
  struct DeleteState {
    void operator()(State* state) const;  // not in a forked child
  };
  using StateHandle = std::unique_ptr<State, DeleteState>;
  explicit ConflatedReader(StateHandle state);
  StateHandle state_;
};

}  // namespace lapwing
