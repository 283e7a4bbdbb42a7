// What a call is answered with that has nothing to give by its deadline (lapwing/waiting.h).
//
// Thread safety: pure functions.
#pragma once

#include "lapwing/error.h"
#include "lapwing/waiting.h"

namespace lapwing {

// With Deadline::now() it did not wait.
constexpr Errc nothing_by(Deadline deadline) {
  return deadline == Deadline::now() ? Errc::kWouldBlock : Errc::kTimedOut;
}

}  // namespace lapwing
