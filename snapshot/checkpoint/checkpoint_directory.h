// The checkpoints of one fold: <bus>/checkpoint/<fold>/. Listing, choosing the newest that is good,
// removing old ones and leftovers.
//
// Thread safety: free functions; one writer for a directory (the checkpointer holds its store's
// lock).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "snapshot/checkpoint/checkpoint.h"

namespace lapwing {

inline constexpr char kCheckpointDirectoryName[] = "checkpoint";

std::string checkpoint_directory(const std::string& bus, const std::string& fold);
std::string checkpoint_path(const std::string& directory, Sequence as_of);

struct CheckpointFile {
  Sequence as_of = kNoSequence;  // by its name
  std::string path;
};
// Newest first; leftovers (.tmp) and other names are no checkpoints. An empty list where there is
// no directory.
absl::StatusOr<std::vector<CheckpointFile>> list_checkpoints(const std::string& directory);

// Why a checkpoint that is whole may not be used here: of another journal, session, schema or fold,
// or newer than the journal's end. OK: it may.
using CheckpointJudge = std::function<absl::Status(const CheckpointHeader& header)>;

struct ChosenCheckpoint {
  Checkpoint checkpoint;
  std::vector<std::string> skipped;  // a line for each newer one: which, and why
};
// The newest that is whole, of this fold, and that `judge` accepts. Errors: kNotFound, with a line
// for each that was skipped, or that there is none.
absl::StatusOr<ChosenCheckpoint> choose_checkpoint(const std::string& directory,
                                                   const FoldShape& shape,
                                                   const CheckpointJudge& judge);

// Removes all but the newest `keep` and every leftover; syncs the directory. `keep` is at least 1.
// A damaged file does not count as kept. Returns the as-of sequence of the oldest that is kept;
// kNoSequence if none is.
absl::StatusOr<Sequence> retain_checkpoints(Disk& disk, const std::string& directory,
                                            std::uint64_t keep);

}  // namespace lapwing
