// The .sum file: the sum of each synced 4 KiB block of a segment, and its verification.
//
// Writers and readers share these functions, so they always agree.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "lapwing/sequence.h"
#include "proto/journal_format.h"
#include "snapshot/journal/journal_geometry.h"

namespace lapwing {

// Returns the sum of a block's first `count` slots. `bytes` contains those slots, count ×
// slot_bytes; count ≥ 1. `block` is the absolute block number (JournalGeometry::block_of).
SumEntry make_sum(const Id128& journal_id, std::uint64_t block, std::span<const std::byte> bytes,
                  std::uint32_t count);

enum class SumState {
  kEmpty,    // all zero: no part of the block was synced
  kValid,    // the entry is intact; its sum can be compared with the block
  kDamaged,  // the entry's own check fails, or its count exceeds a block
};

// Checks an entry by itself, without its block.
SumState check_sum_entry(const Id128& journal_id, std::uint64_t block, const SumEntry& entry,
                         const JournalGeometry& geometry);

// True if the block's first entry.count slots match the sum. `bytes` begins with the block and has
// at least count × slot_bytes; the entry must be kValid.
bool sum_matches(const SumEntry& entry, std::span<const std::byte> bytes,
                 const JournalGeometry& geometry);

// The offset of the entry for absolute block `block` in its segment's .sum
// file, and that file's size.
inline std::uint64_t sum_offset(const JournalGeometry& geometry, std::uint64_t block) {
  return (block % geometry.blocks_per_segment()) * sizeof(SumEntry);
}
inline std::uint64_t sum_file_bytes(const JournalGeometry& geometry) {
  return geometry.blocks_per_segment() * sizeof(SumEntry);
}

}  // namespace lapwing
