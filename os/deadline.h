// The remaining time until a deadline (lapwing/waiting.h), and the error of a call that has no
// result by its deadline.
//
// Thread safety: free functions without state.
#pragma once

#include <chrono>
#include <cstdint>

#include "lapwing/error.h"
#include "lapwing/waiting.h"
#include "os/kernel.h"

namespace lapwing {

// Returns the time left, or 0 once the deadline has passed.
inline std::uint64_t left_ns(Deadline deadline) {
  const std::uint64_t now_ns = monotonic_ns();
  const std::uint64_t until_ns = deadline.monotonic_ns();
  return until_ns > now_ns ? until_ns - now_ns : 0;
}

// Returns kWouldBlock for Deadline::now(), because the call did not wait, and kTimedOut otherwise.
constexpr Errc nothing_by(Deadline deadline) {
  return deadline == Deadline::now() ? Errc::kWouldBlock : Errc::kTimedOut;
}

// Returns whether a call ended with one of these errors, without a result by its deadline.
constexpr bool came_to_nothing(Errc error) {
  return error == Errc::kWouldBlock || error == Errc::kTimedOut;
}

// Converts an option that may be kNever or kOnRequest, which both become 0. Other values are above
// 0.
constexpr std::uint64_t ns_or_zero(std::chrono::nanoseconds option) {
  return option == kNever ? 0 : static_cast<std::uint64_t>(option.count());
}

}  // namespace lapwing
