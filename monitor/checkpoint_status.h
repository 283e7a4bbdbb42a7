// The newest checkpoint of each fold of a bus, by its header.
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

inline constexpr std::size_t kCheckpointFoldsMax = 64;  // of one bus; the others are left out

struct CheckpointStatus {
  std::string fold;
  // Why the newest file is none that a reader would use; the rest is then unknown, but for `as_of`,
  // which the file's name says. That every byte matches its sum only opening it can say.
  absl::Status usable;
  Sequence as_of = kNoSequence;
  std::uint64_t written_wall_ns = 0;  // UTC
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;  // of the file
};

// By fold; a fold without a checkpoint is left out. Reads a page of each. Errors: kNotPermitted,
// kSystem; no checkpoint at all is an empty list.
absl::StatusOr<std::vector<CheckpointStatus>> read_checkpoints(const std::string& bus_directory);

}  // namespace lapwing
