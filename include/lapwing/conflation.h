// The conflated reader: of each key the newest record of an interval, for consumers that cannot or
// need not see every record, such as screens. It says of each record how many it stands for.
//
//   auto reader = lapwing::ConflatedReader::open({.directory = "./es"},
//                                                {.interval = std::chrono::milliseconds(250)});
//   for (;;) {
//     const auto item = reader->next();
//     if (!item.ok()) return reader->status();
//     if (item->kind == lapwing::ItemKind::kRecord) draw(item->record, item->conflated);
//   }
//
// An interval ends at each multiple of `interval` on the clock. What waits then is delivered in the
// order of the sequences, of each key one record. Two things end an interval early: an event (a
// gap, a session, caught up, closed …), which therefore stands exactly where it belongs, behind all
// records before it and ahead of all after it; and a record of a new key while keys_max keys wait.
//
// Nothing is lost silently: records = delivered + conflated + waiting, at any time.
//
// Threads, forks: as a Subscriber; waiting() is 0 in a forked child. No allocation once the keys of
// an interval have been as many as they ever are; memory for keys_max of them at most.
// Errors: the subscriber's; kInvalidArgument for records whose key is not described.
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

// That of the fold `latest`: the fields that the description marks as keys; of DBN publisher and
// instrument, and of market by order the side, too.
// Errors: kInvalidArgument for a description without a key.
[[nodiscard]] absl::StatusOr<ConflationKey> latest_key(const Schema& schema);
// The same for a schema that Lapwing ships. Errors: kInvalidArgument for another one.
[[nodiscard]] absl::StatusOr<ConflationKey> latest_key(const std::string& schema);

struct ConflationOptions {
  std::chrono::nanoseconds interval = std::chrono::milliseconds(250);
  std::uint32_t keys_max = kConflationKeysMax;
  ConflationKey key = {};  // none: latest_key() of the bus's records
  // Nanoseconds of the clock that the intervals follow; empty: CLOCK_MONOTONIC.
  std::function<std::uint64_t()> now_ns = {};
};

struct ConflationCounters {
  std::uint64_t records = 0;    // read from the bus
  std::uint64_t delivered = 0;  // as records
  std::uint64_t conflated = 0;  // replaced by newer ones of their keys
  std::uint64_t early = 0;      // intervals that keys_max ended
};

// What read_one() gives.
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

  // As of a Subscriber; Item, ConflatedSequence and Batch say how many older records each one stands
  // for. Those of an interval do not follow one another, so a batch without columns has one record.
  // read_event() gives an event once the records of its interval are read.
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
  // All records of an interval in one batch, as many as fit: beside each row its sequence and the
  // number of older records that it stands for. No more rows than either column has places.
  [[nodiscard]] Result<Batch> read(std::span<std::byte> rows, std::span<Sequence> sequences,
                                   std::span<std::uint64_t> conflated,
                                   Deadline deadline = Deadline::never());
  void interrupt() noexcept;

  // Keys whose newest record waits for the interval's end, and how long until then: for event
  // loops, which read when the descriptor is readable or this time is over.
  [[nodiscard]] std::uint32_t waiting() const;
  [[nodiscard]] std::chrono::nanoseconds interval_left() const;  // max() while nothing waits
  [[nodiscard]] ConflationCounters counters() const;
  // Why nothing more will come: no key is known for the schema, or Subscriber::status().
  [[nodiscard]] const absl::Status& status() const;
  // What it reads: position, counters, descriptor. Its records are not to be taken from there.
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
