// The checksum of a file header or entry: XXH3-64 of everything before its field `checksum`.
//
// Thread safety: pure function.
#pragma once

#include <xxhash.h>

#include <cstddef>
#include <cstdint>

namespace lapwing {

template <typename Header>
std::uint64_t checksum_of(const Header& header) {
  return XXH3_64bits(&header, offsetof(Header, checksum));
}

}  // namespace lapwing
