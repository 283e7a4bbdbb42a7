// The layout of a slot: a 64-bit stamp, the record as 64-bit words (the last one padded), and
// unused bytes.
#pragma once

#include <bit>
#include <cstdint>

#include "lapwing/sequence.h"

namespace lapwing {

inline constexpr std::uint32_t kSlotBytesMin = 16;
inline constexpr std::uint32_t kStampBytes = 8;

// Returns the slot size for a record: stamp and record, rounded up to a power of two.
constexpr std::uint32_t slot_bytes_for(std::uint32_t record_bytes) {
  const std::uint32_t slot = std::bit_ceil(record_bytes + kStampBytes);
  return slot < kSlotBytesMin ? kSlotBytesMin : slot;
}
constexpr unsigned slot_shift_for(std::uint32_t record_bytes) {
  return static_cast<unsigned>(std::countr_zero(slot_bytes_for(record_bytes)));
}

constexpr std::uint64_t writing_stamp(Sequence n) {
  return 2 * n - 1;
}
constexpr std::uint64_t ready_stamp(Sequence n) {
  return 2 * n;
}

}  // namespace lapwing
