// An aligned page of 4 KiB, as needed for direct I/O and fast copies by the kernel.
#pragma once

#include <array>
#include <cstddef>

#include "lapwing/detail/memory_layout.h"

namespace lapwing {

// Contains garbage unless it is initialised.
struct alignas(kPageBytes) Page {
  std::array<std::byte, kPageBytes> bytes;
};
static_assert(sizeof(Page) == kPageBytes);

}  // namespace lapwing
