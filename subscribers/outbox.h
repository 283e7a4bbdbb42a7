// The items that a subscriber hands out, and the events due before the next
// record, each with its text.
//
// Events are delivered in the order in which they were added. An event that was taken but could not
// be delivered is put back in front.
//
// Thread safety: one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lapwing/subscriber.h"

namespace lapwing {

enum class DueKind : std::uint32_t { kNothing, kRecord, kState, kEvent, kEnd };

struct Due {
  DueKind kind = DueKind::kNothing;
  Sequence sequence = kNoSequence;
  std::span<const std::byte> record = {};  // kRecord, kState
  EventKind event = {};                    // kEvent
};

class Outbox {
 public:
  bool empty() const { return entries_.empty(); }
  // Requires !empty(). The item that is delivered first.
  const Due& first() const { return entries_.front().due; }
  // True if it contains an event that starts the records: a reset, or the end of a state that does
  // not follow a gap.
  bool has_beginning() const {
    return std::any_of(entries_.begin(), entries_.end(), [](const Entry& entry) {
      return entry.due.event == EventKind::kReset ||
             ((entry.due.event == EventKind::kSnapshotComplete ||
               entry.due.event == EventKind::kNoSnapshot) &&
              entry.gap.first == kNoSequence);
    });
  }

  // True if the first event reports missing records, or the state that replaces them.
  bool gap_is_first() const { return !empty() && first_gap().first != kNoSequence; }

  // Requires !empty(). The gap of the first item, if it has one.
  const Gap& first_gap() const { return entries_.front().gap; }

  void add(const Due& due, std::string text, const Gap& gap = {}) {
    entries_.push_back({due, std::move(text), gap});
  }
  // Requires !empty(). From now on text() and gap() are those of the returned item.
  Due take() {
    Entry entry = std::move(entries_.front());
    entries_.erase(entries_.begin());
    text_ = std::move(entry.text);
    gap_ = entry.gap;
    return entry.due;
  }
  // `due` is the last item taken.
  void put_back(const Due& due) { entries_.insert(entries_.begin(), {due, text_, gap_}); }
  const std::string& text() const { return text_; }
  const Gap& gap() const { return gap_; }

 private:
  struct Entry {
    Due due;
    std::string text;
    Gap gap;
  };
  std::vector<Entry> entries_;
  std::string text_;
  Gap gap_;
};

}  // namespace lapwing
