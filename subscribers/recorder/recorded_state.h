// The state that a recording from a snapshot begins with, as records in the bus's schema. A program
// that folds the recording from its first record gets the same state as the bus's own fold.
//
// For the fold `orders`, each book becomes a clear, then its orders as adds in queue order. All
// have the flag SNAPSHOT, and the last one in a book also has LAST, as in a snapshot from a venue.
// A stale book's orders also have MAYBE_BAD_BOOK. The bus's losses are not records, and are left
// out. For `latest`: the records, with the flag SNAPSHOT if they are DBN records. For a custom fold
// whose entries begin with a record: these records.
//
// Thread safety: one thread. Holds the whole state until it is taken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "lapwing/dbn.h"
#include "lapwing/fold.h"
#include "lapwing/sequence.h"

namespace lapwing {

class RecordedState {
 public:
  // Adds one entry of `fold`. Call it in key order. Errors: kInvalidArgument if the entries are not
  // the bus's records.
  absl::Status add(const Fold& fold, std::span<const std::byte> entry);

  std::uint64_t entries() const { return entries_; }
  // Returns all records, contiguous, and removes them.
  std::vector<std::byte> take_records();

 private:
  void add_order_entry(std::span<const std::byte> entry);
  void end_book();

  struct Order {
    dbn::MboMsg msg;
    Sequence place;
  };

  std::uint64_t entries_ = 0;
  std::optional<std::uint32_t> flags_ = {};  // their offset in DBN records
  std::vector<std::byte> records_;
  // The book whose orders are being added.
  std::vector<Order> book_;  // its clear comes first
  bool stale_ = false;
  Sequence lost_through_ = kNoSequence;
};

}  // namespace lapwing
