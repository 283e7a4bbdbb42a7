// What comes next to a subscriber, before it is handed out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "lapwing/subscriber.h"

namespace lapwing {

enum class DueKind : std::uint32_t { kNothing, kRecord, kState, kEvent, kEnd };

struct Due {
  DueKind kind = DueKind::kNothing;
  Sequence sequence = kNoSequence;
  std::span<const std::byte> record = {};  // kRecord, kState
  EventKind event = {};                    // kEvent
};

}  // namespace lapwing
