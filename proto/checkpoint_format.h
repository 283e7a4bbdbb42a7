// A checkpoint file, byte for byte. No behaviour; docs/reference/file-formats.md describes it.
//
//   checkpoint/<fold>/<as-of sequence, 20 digits>.ckpt
//
//   CheckpointHeader            one page, written last
//   entries                     entry_count × entry_bytes, sorted by key, end to end
//   zeros                       up to a multiple of 8 bytes
//   sums                        a u64 for each block of block_bytes of the entries: XXH3-64 of the
//                               block (the last one may be shorter), seed: the block's number
//
// While a file is being written, its name ends in .tmp. It is then synced and renamed, and its
// directory is synced. So a file with a checkpoint's name was complete when it was renamed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lapwing/sequence.h"
#include "proto/ring_layout.h"

namespace lapwing {

inline constexpr std::uint32_t kCheckpointVersion = 1;
inline constexpr std::uint64_t kCheckpointHeaderBytes = kPageBytes;
inline constexpr std::uint32_t kCheckpointBlockBytes = 64 * 1024;
inline constexpr std::uint64_t kCheckpointMagic = 0x31504b4357504c;  // "LPWCKP1"
inline constexpr std::uint32_t kEntryBytesMax = 4096;
inline constexpr std::uint32_t kKeyBytesMax = 32;

struct CheckpointHeader {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t header_bytes;  // offset of the first entry
  Id128 journal_id;            // the journal whose records were folded
  Id128 session_id;            // the session of `sequence`
  std::uint64_t sequence;      // the state is as of this record
  std::uint64_t created_wall_ns;
  std::uint64_t entry_count;
  std::uint32_t entry_bytes;
  std::uint32_t block_bytes;  // kCheckpointBlockBytes
  std::uint64_t sums_offset;
  std::uint64_t sums_sum;      // XXH3-64 of the sums
  std::uint32_t record_bytes;  // of the bus
  std::uint32_t fold_version;  // version of the fold's entries
  char schema[32];             // of the bus
  char fold[32];
  std::uint8_t reserved[3920];
  std::uint64_t checksum;  // XXH3-64 of the page's first 4,088 bytes
};
static_assert(sizeof(CheckpointHeader) == kCheckpointHeaderBytes);
static_assert(offsetof(CheckpointHeader, version) == 8);
static_assert(offsetof(CheckpointHeader, header_bytes) == 12);
static_assert(offsetof(CheckpointHeader, journal_id) == 16);
static_assert(offsetof(CheckpointHeader, session_id) == 32);
static_assert(offsetof(CheckpointHeader, sequence) == 48);
static_assert(offsetof(CheckpointHeader, created_wall_ns) == 56);
static_assert(offsetof(CheckpointHeader, entry_count) == 64);
static_assert(offsetof(CheckpointHeader, entry_bytes) == 72);
static_assert(offsetof(CheckpointHeader, block_bytes) == 76);
static_assert(offsetof(CheckpointHeader, sums_offset) == 80);
static_assert(offsetof(CheckpointHeader, sums_sum) == 88);
static_assert(offsetof(CheckpointHeader, record_bytes) == 96);
static_assert(offsetof(CheckpointHeader, fold_version) == 100);
static_assert(offsetof(CheckpointHeader, schema) == 104);
static_assert(offsetof(CheckpointHeader, fold) == 136);
static_assert(offsetof(CheckpointHeader, checksum) == 4088);

}  // namespace lapwing
