// A checkpoint's header page: made by the writer, checked by whoever opens one.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "proto/checkpoint_format.h"
#include "snapshot/checkpoint/checkpoint_writer.h"

namespace lapwing {

// Where things stand in a file of `entry_count` entries of `entry_bytes` bytes.
struct CheckpointLayout {
  std::uint64_t entries_bytes = 0;  // all of them
  std::uint64_t block_count = 0;    // that they take, the last one maybe short
  std::uint64_t sums_offset = 0;
  std::uint64_t file_bytes = 0;
};
// The product must fit: check_checkpoint_header() sees to that for what was read.
CheckpointLayout checkpoint_layout(std::uint64_t entry_count, std::uint32_t entry_bytes);

CheckpointHeader make_checkpoint_header(const FoldShape& shape, const CheckpointIdentity& identity,
                                        std::uint64_t created_wall_ns, std::uint64_t entry_count,
                                        std::uint64_t sums_sum);

// Ok if the header is whole and describes a file of `file_bytes`. `path` only names the file in the
// message. Errors: kNotALapwingFile (magic), kAbiMismatch (version), kDamaged (checksum, a field
// that cannot be, another length).
absl::Status check_checkpoint_header(const CheckpointHeader& header, std::uint64_t file_bytes,
                                     const std::string& path);

// kDamaged, with file, place and what to do about it.
absl::Status checkpoint_damage(const std::string& path, const std::string& what);

}  // namespace lapwing
