// How long and how often a journal reader retries a missing file before its records count as lost.
// The file may be in the middle of being moved or restored.
#pragma once

#include <cstdint>

namespace lapwing {

inline constexpr std::uint64_t kMissingFileGraceNs = 2'000'000'000;
inline constexpr std::uint64_t kMissingFileRetryNs = 10'000'000;

}  // namespace lapwing
