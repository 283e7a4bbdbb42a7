// A checkpoint's header page, which the writer creates and every load checks.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "proto/checkpoint_format.h"
#include "snapshot/checkpoint/checkpoint_writer.h"

namespace lapwing {

// The layout of a file with `entry_count` entries of `entry_bytes` bytes.
struct CheckpointLayout {
  std::uint64_t entries_bytes = 0;  // of all entries
  std::uint64_t block_count = 0;    // blocks of entries, the last one may be short
  std::uint64_t sums_offset = 0;
  std::uint64_t file_bytes = 0;
};
// The product must not overflow, which check_checkpoint_header() ensures for a header that was
// read.
CheckpointLayout checkpoint_layout(std::uint64_t entry_count, std::uint32_t entry_bytes);

CheckpointHeader make_checkpoint_header(const FoldShape& shape, const CheckpointIdentity& identity,
                                        std::uint64_t created_wall_ns, std::uint64_t entry_count,
                                        std::uint64_t sums_sum);

// Ok if the header is intact and describes a file of `file_bytes`. `path` is only used in messages.
// Errors: kNotALapwingFile (magic), kAbiMismatch (version), kDamaged (wrong checksum, an impossible
// field or a wrong length).
absl::Status check_checkpoint_header(const CheckpointHeader& header, std::uint64_t file_bytes,
                                     const std::string& path);

// Returns kDamaged, with the file, the position and the remedy.
absl::Status checkpoint_damage(const std::string& path, const std::string& what);

}  // namespace lapwing
