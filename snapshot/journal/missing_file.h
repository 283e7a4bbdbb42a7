// How long, and how often, a journal reader retries a missing file before its records count as
// lost. Somebody may be moving or restoring the file.
#pragma once

#include <cstdint>

namespace lapwing {

inline constexpr std::uint64_t kMissingFileGraceNs = 2'000'000'000;
inline constexpr std::uint64_t kMissingFileRetryNs = 10'000'000;

}  // namespace lapwing
