// 4 KiB that begin with a page: what direct I/O and fast copies of the kernel want.
#pragma once

#include <array>
#include <cstddef>

#include "lapwing/detail/memory_layout.h"

namespace lapwing {

// Holds garbage unless it is initialised.
struct alignas(kPageBytes) Page {
  std::array<std::byte, kPageBytes> bytes;
};
static_assert(sizeof(Page) == kPageBytes);

}  // namespace lapwing
