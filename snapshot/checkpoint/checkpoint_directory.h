// The checkpoints of one fold: <bus>/checkpoint/<fold>/. Lists them, chooses the newest valid one,
// and removes old ones and leftovers.
//
// A checkpoint is a file with the name <as-of sequence, 20 digits>.ckpt whose header contains that
// sequence. Links, directories and other names are ignored. Any user that can write to the
// directory can put a checkpoint there. So code that opens checkpoints on this machine's disk for a
// user refuses the whole directory if another user owns it or can write to it
// (checkpoint_ownership.h). The functions here do not check that.
//
// Thread safety: free functions; one writer per directory (the checkpointer holds the lock of its
// store).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "snapshot/checkpoint/checkpoint_load.h"
#include "snapshot/checkpoint/loaded_checkpoint.h"

namespace lapwing {

inline constexpr char kCheckpointDirectoryName[] = "checkpoint";
inline constexpr char kCheckpointStoreName[] = "state";  // the checkpointer's store

std::string checkpoint_directory(const std::string& bus, const std::string& fold);
std::string checkpoint_path(const std::string& directory, Sequence as_of);

// Creates <bus>/checkpoint and <bus>/checkpoint/<fold> if needed, and syncs their names. Returns
// the latter. Errors: kNotALapwingFile (the path is not a directory), kNoSpace, kNotPermitted,
// kSystem.
absl::StatusOr<std::string> make_checkpoint_directory(Disk& disk, const std::string& bus,
                                                      const std::string& fold);

struct CheckpointFile {
  Sequence as_of = kNoSequence;  // from its name
  std::string path;
};
// Lists the checkpoints, newest first. Returns an empty list if the directory does not
// exist. Leftovers (.tmp) and files with other names are not checkpoints, and each
// adds a line to `strangers`, if given. Errors: kNotPermitted, kNotALapwingFile (for
// example a link at its path), kSystem.
absl::StatusOr<std::vector<CheckpointFile>> list_checkpoints(
    Disk& disk, const std::string& directory, std::vector<std::string>* strangers = nullptr);

// Returns why an intact checkpoint cannot be used here: it belongs to another journal or session,
// or is newer than the journal's end. OK if it can be used. See checkpoint_judge.h.
using CheckpointJudge = std::function<absl::Status(const CheckpointHeader& header)>;

struct ChosenCheckpoint {
  LoadedCheckpoint checkpoint;
  std::vector<std::string> skipped;  // for each newer one, a line with the reason
};
// Returns the newest intact checkpoint of this fold that `judge` accepts. Errors: kNotFound if
// there is none, or kDamaged if a skipped one is damaged, with a line for each skipped one; those
// of list_checkpoints().
absl::StatusOr<ChosenCheckpoint> choose_checkpoint(Disk& disk, const std::string& directory,
                                                   const FoldShape& shape,
                                                   const CheckpointJudge& judge);

// load_checkpoint() loads one checkpoint with the checks of choose_checkpoint(): it is intact, has
// the sequence in its name, belongs to this fold, and is accepted by `judge`. begin_checkpoint()
// begins such a load, whose last check is that the checkpoint is intact.
absl::StatusOr<LoadedCheckpoint> load_checkpoint(Disk& disk, const CheckpointFile& file,
                                                 const FoldShape& shape,
                                                 const CheckpointJudge& judge);
absl::StatusOr<CheckpointLoad> begin_checkpoint(Disk& disk, const CheckpointFile& file,
                                                const FoldShape& shape,
                                                const CheckpointJudge& judge);

struct KeptCheckpoints {
  Sequence oldest = kNoSequence;  // kNoSequence: none
  Sequence newest = kNoSequence;
};
// Removes all but the newest `keep` checkpoints of this journal and fold, removes every leftover,
// and syncs the directory. `keep` is at least 1. Returns the as-of sequences of the checkpoints
// that are kept.
//
// These do not count as kept:
// - A file with a wrong header or length, or for another version or size of the fold. It is removed
//   once `keep` newer checkpoints exist.
// - A file from another journal. It is removed at once, because after a reset its sequence may be
//   higher than any new one.
//
// Other names are left unchanged.
absl::StatusOr<KeptCheckpoints> retain_checkpoints(Disk& disk, const std::string& directory,
                                                   const FoldShape& shape, const Id128& journal_id,
                                                   std::uint64_t keep);

}  // namespace lapwing
