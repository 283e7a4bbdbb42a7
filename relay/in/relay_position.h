// A position in the origin's history.
//
// Thread safety: plain values.
#pragma once

#include "lapwing/sequence.h"

namespace lapwing {

struct RelayPosition {
  Id128 session_id;
  Sequence sequence = kNoSequence;
};

}  // namespace lapwing
