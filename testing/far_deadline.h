// A deadline that ends a hang; nothing is measured by it.
#pragma once

#include <cstdint>

#include "os/kernel.h"

namespace lapwing {

inline std::uint64_t far_deadline() {
  return monotonic_ns() + 60 * kNsPerSecond;
}

}  // namespace lapwing
