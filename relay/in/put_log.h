// Which source the mirror's newest records came from, to name both sides of a contradiction.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <deque>

#include "lapwing/sequence.h"
#include "relay/in/missing.h"
#include "relay/in/relay_source.h"

namespace lapwing {

class PutLog {
 public:
  static constexpr std::size_t kEntriesMax = 4096;

  void add(std::uint64_t session_row, const RelayRange& range, const RelaySource& source) {
    if (!entries_.empty()) {
      Entry& newest = entries_.back();
      const bool continues = newest.session_row == session_row && newest.source == source &&
                             newest.range.last + 1 == range.first;
      if (continues) {
        newest.range.last = range.last;
        return;
      }
    }
    entries_.push_back({session_row, range, source});
    if (entries_.size() > kEntriesMax) entries_.pop_front();
  }
  // The journal, if that is longer ago.
  RelaySource source_of(std::uint64_t session_row, Sequence sequence) const {
    for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
      const bool has_it = entry->session_row == session_row && entry->range.first <= sequence &&
                          sequence <= entry->range.last;
      if (has_it) return entry->source;
    }
    return {};
  }

 private:
  struct Entry {
    std::uint64_t session_row = 0;
    RelayRange range;
    RelaySource source;
  };
  std::deque<Entry> entries_;
};

}  // namespace lapwing
