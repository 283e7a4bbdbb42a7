// The state that a recording from a snapshot begins with, as records of the bus's schema: whoever
// folds the recording from its first record gets what the bus's own fold has.
//
// Of `orders`: for each book a clear, then its orders as adds in the order of their places in the
// queue, all flagged SNAPSHOT, the last of the book also LAST; that is the form in which a venue's
// own snapshot comes. The orders of a book that is stale are flagged MAYBE_BAD_BOOK besides. What
// the bus has lost is no record, and is left out. Of `latest`: the records, flagged SNAPSHOT if
// they are DBN's. Of a fold of one's own whose entries begin with a record: those.
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
  // One entry of `fold`, in the order of the keys. Errors: kInvalidArgument if its entries are no
  // records of the bus.
  absl::Status add(const Fold& fold, std::span<const std::byte> entry);

  std::uint64_t entries() const { return entries_; }
  // All of it, laid end to end; nothing is left.
  std::vector<std::byte> take_records();

 private:
  void add_order_entry(std::span<const std::byte> entry);
  void end_book();

  struct Order {
    dbn::MboMsg msg;
    Sequence place;
  };

  std::uint64_t entries_ = 0;
  std::optional<std::uint32_t> flags_ = {};  // in records of DBN: their offset
  std::vector<std::byte> records_;
  // The book whose orders are coming.
  std::vector<Order> book_;  // its clear comes first
  bool stale_ = false;
  Sequence lost_through_ = kNoSequence;
};

}  // namespace lapwing
