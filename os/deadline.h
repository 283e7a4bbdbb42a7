// What a deadline (lapwing/waiting.h) leaves a call: how long it may wait, and what it answers if it
// has nothing to give by then.
//
// Thread safety: free functions without state.
#pragma once

#include <chrono>
#include <cstdint>

#include "lapwing/error.h"
#include "lapwing/waiting.h"
#include "os/kernel.h"

namespace lapwing {

// From now on; 0 once it has passed.
inline std::uint64_t left_ns(Deadline deadline) {
  const std::uint64_t now_ns = monotonic_ns();
  const std::uint64_t until_ns = deadline.monotonic_ns();
  return until_ns > now_ns ? until_ns - now_ns : 0;
}

// With Deadline::now() it did not wait.
constexpr Errc nothing_by(Deadline deadline) {
  return deadline == Deadline::now() ? Errc::kWouldBlock : Errc::kTimedOut;
}

// Whether a call answered so: there was nothing by its deadline.
constexpr bool came_to_nothing(Errc error) {
  return error == Errc::kWouldBlock || error == Errc::kTimedOut;
}

// Of an option that may be kNever or kOnRequest, which is 0 here. Such an option is above 0.
constexpr std::uint64_t ns_or_zero(std::chrono::nanoseconds option) {
  return option == kNever ? 0 : static_cast<std::uint64_t>(option.count());
}

}  // namespace lapwing
