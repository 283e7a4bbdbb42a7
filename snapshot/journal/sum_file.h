// The .sum file: what was synced of each 4 KiB block of a segment, and how a reader checks it.
//
// Writer and reader share these functions, so that neither can hold another opinion of an entry.
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

// The sum of a block's first `count` slots. `bytes` is those slots, count × slot_bytes; count ≥ 1.
// `block` is the absolute block number (JournalGeometry::block_of).
SumEntry make_sum(const Id128& journal_id, std::uint64_t block, std::span<const std::byte> bytes,
                  std::uint32_t count);

enum class SumState {
  kEmpty,    // all zero: nothing of the block was synced
  kValid,    // the entry is what was written; its sum may be held against the block
  kDamaged,  // neither: the entry's own check fails, or its count is beyond a block
};

// Judges an entry by itself, without its block.
SumState check_sum_entry(const Id128& journal_id, std::uint64_t block, const SumEntry& entry,
                         const JournalGeometry& geometry);

// True if the block's first entry.count slots are what was synced. `bytes` begins with the block
// and holds at least count × slot_bytes; the entry is kValid.
bool sum_matches(const SumEntry& entry, std::span<const std::byte> bytes,
                 const JournalGeometry& geometry);

// Where the entry of absolute block `block` stands in its segment's .sum file, and the file's size.
inline std::uint64_t sum_offset(const JournalGeometry& geometry, std::uint64_t block) {
  return (block % geometry.blocks_per_segment()) * sizeof(SumEntry);
}
inline std::uint64_t sum_file_bytes(const JournalGeometry& geometry) {
  return geometry.blocks_per_segment() * sizeof(SumEntry);
}

}  // namespace lapwing
