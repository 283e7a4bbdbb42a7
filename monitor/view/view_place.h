// A view's position in its bus, and the keys of its messages that describe it.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <string>

#include "lapwing/sequence.h"
#include "lapwing/subscriber.h"

namespace lapwing {

struct ViewPlace {
  const char* state = "joining";
  std::string why = {};
  Sequence sequence = kNoSequence;  // the last record in the content
  Sequence head = kNoSequence;
  std::uint64_t lost = 0;

  std::uint64_t behind() const { return head > sequence ? head - sequence : 0; }
  // `is_skipped`: the event is a gap whose records are not delivered.
  void take(const Event& event, bool is_skipped);

  friend bool operator==(const ViewPlace&, const ViewPlace&) = default;
};

}  // namespace lapwing
