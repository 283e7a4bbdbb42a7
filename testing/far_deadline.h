// Deadlines that only end a hang.
#pragma once

#include <chrono>
#include <cstdint>

#include "lapwing/waiting.h"
#include "os/kernel.h"

namespace lapwing {

inline constexpr std::chrono::seconds kHang{60};
inline constexpr Deadline kPast = Deadline::at_monotonic_ns(1);

inline std::uint64_t far_deadline() {
  return monotonic_ns() + 60 * kNsPerSecond;
}

}  // namespace lapwing
