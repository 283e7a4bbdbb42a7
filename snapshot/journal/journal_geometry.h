// Computes the position of a record in the journal: segment, offset, block; all by shift and mask.
//
// Thread safety: plain values and pure functions.
#pragma once

#include <cstdint>

#include "lapwing/sequence.h"
#include "proto/journal_format.h"
#include "proto/ring_layout.h"

namespace lapwing {

struct JournalGeometry {
  std::uint32_t slot_bytes = 0;
  std::uint32_t record_bytes = 0;
  std::uint64_t segment_slots = 0;  // K, a power of two, a multiple of block_slots()

  std::uint64_t block_slots() const { return slots_per_block(slot_bytes); }  // B
  std::uint64_t segment_bytes() const { return segment_slots * slot_bytes; }
  std::uint64_t blocks_per_segment() const { return segment_slots / block_slots(); }

  std::uint64_t segment_of(Sequence n) const { return (n - 1) / segment_slots; }
  Sequence segment_first(std::uint64_t segment) const { return segment * segment_slots + 1; }
  Sequence segment_last(std::uint64_t segment) const { return (segment + 1) * segment_slots; }
  // Byte offset of record n's slot in its segment file.
  std::uint64_t offset_of(Sequence n) const {
    return kSegmentHeaderBytes + ((n - 1) & (segment_slots - 1)) * slot_bytes;
  }
  // Absolute number of the block that contains n, from 0; and the first sequence of a block.
  std::uint64_t block_of(Sequence n) const { return (n - 1) / block_slots(); }
  Sequence block_first(std::uint64_t block) const { return block * block_slots() + 1; }
  // n rounded down to a whole number of blocks: the last sequence of the last whole block at or
  // below n.
  Sequence floor_block(Sequence n) const { return n - n % block_slots(); }

  friend bool operator==(const JournalGeometry&, const JournalGeometry&) = default;
};

}  // namespace lapwing
