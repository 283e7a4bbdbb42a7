// The newest checkpoint of each fold of a bus, according to its header.
//
// Thread safety: free function.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/sequence.h"

namespace lapwing {

inline constexpr std::size_t kCheckpointFoldsMax = 64;  // per bus; the others are left out

struct CheckpointStatus {
  std::string fold;
  // Why a reader would not use the newest file. The other members are then
  // unknown, except `as_of`, which is in the file's name. Checksums are verified
  // only when the file is opened.
  absl::Status usable;
  Sequence as_of = kNoSequence;
  std::uint64_t written_wall_ns = 0;  // UTC
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;  // of the file
};

// Returns the checkpoints ordered by fold, omitting folds without one. Reads one page of each.
// Errors: kNotPermitted, kSystem. A bus without checkpoints has an empty list.
absl::StatusOr<std::vector<CheckpointStatus>> read_checkpoints(const std::string& bus_directory);

}  // namespace lapwing
