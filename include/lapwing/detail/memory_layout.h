// Constants and words for all memory files that processes share, without behaviour.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lapwing {

// Version of all files and protocols that two processes share (docs/reference/abi-policy.md).
inline constexpr std::uint32_t kAbiVersion = 1;
inline constexpr std::uint64_t kPageBytes = 4096;

// Processors prefetch adjacent lines in pairs, so each word has 128 bytes of its own.
inline constexpr std::size_t kWordStride = 128;

struct alignas(kWordStride) PaddedWord {
  std::uint64_t value;
  std::uint8_t padding[kWordStride - sizeof(std::uint64_t)];
};
static_assert(sizeof(PaddedWord) == kWordStride);

}  // namespace lapwing
