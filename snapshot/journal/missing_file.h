// How long whoever reads a journal asks again for a file of it that is not there, before the file's
// records count as lost: somebody may be moving or restoring it. No behaviour.
#pragma once

#include <cstdint>

namespace lapwing {

inline constexpr std::uint64_t kMissingFileGraceNs = 2'000'000'000;
inline constexpr std::uint64_t kMissingFileRetryNs = 10'000'000;

}  // namespace lapwing
