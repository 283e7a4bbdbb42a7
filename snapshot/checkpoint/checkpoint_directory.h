// The checkpoints of one fold: <bus>/checkpoint/<fold>/. Listing, choosing the newest that is good,
// removing old ones and leftovers.
//
// What is taken for a checkpoint is a file of the name <as-of sequence, 20 digits>.ckpt whose
// header says that sequence; links, directories and whatever else stands there never are. Whoever
// can write to the directory can put a checkpoint there, so on the disk of this machine one that
// belongs to a stranger, or that others may write to, is refused as a whole by whoever opens one for
// a user (checkpoint_ownership.h). The functions here take the directory as it is.
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
#include "snapshot/checkpoint/checkpoint_load.h"
#include "snapshot/checkpoint/loaded_checkpoint.h"

namespace lapwing {

inline constexpr char kCheckpointDirectoryName[] = "checkpoint";
inline constexpr char kCheckpointStoreName[] = "state";  // the checkpointer's own, beside them

std::string checkpoint_directory(const std::string& bus, const std::string& fold);
std::string checkpoint_path(const std::string& directory, Sequence as_of);

// Makes <bus>/checkpoint and <bus>/checkpoint/<fold> if need be, and syncs their names. Returns the
// latter. Errors: kNotALapwingFile (something else stands there), kNoSpace, kNotPermitted, kSystem.
absl::StatusOr<std::string> make_checkpoint_directory(Disk& disk, const std::string& bus,
                                                      const std::string& fold);

struct CheckpointFile {
  Sequence as_of = kNoSequence;  // by its name
  std::string path;
};
// Newest first; leftovers (.tmp) and other names are no checkpoints, and get a line each in
// `strangers`, if it is given. An empty list where there is no directory. Errors: kNotPermitted,
// kNotALapwingFile (a link, say, in its place), kSystem.
absl::StatusOr<std::vector<CheckpointFile>> list_checkpoints(
    Disk& disk, const std::string& directory, std::vector<std::string>* strangers = nullptr);

// Why a checkpoint that is whole may not be used here: of another journal or session, or newer than
// the journal's end. OK: it may. See checkpoint_judge.h.
using CheckpointJudge = std::function<absl::Status(const CheckpointHeader& header)>;

struct ChosenCheckpoint {
  LoadedCheckpoint checkpoint;
  std::vector<std::string> skipped;  // a line for each newer one: which, and why
};
// The newest that is whole, of this fold, and that `judge` accepts. Errors: kNotFound that there is
// none, with a line for each that was skipped, or kDamaged if one of those is damaged; as
// list_checkpoints().
absl::StatusOr<ChosenCheckpoint> choose_checkpoint(Disk& disk, const std::string& directory,
                                                   const FoldShape& shape,
                                                   const CheckpointJudge& judge);

// Loads one as choose_checkpoint() would: whole, of the sequence that its name says, of this fold,
// accepted by `judge`; or begins to, and its end tells whether it is whole.
absl::StatusOr<LoadedCheckpoint> load_checkpoint(Disk& disk, const CheckpointFile& file,
                                                 const FoldShape& shape,
                                                 const CheckpointJudge& judge);
absl::StatusOr<CheckpointLoad> begin_checkpoint(Disk& disk, const CheckpointFile& file,
                                                const FoldShape& shape,
                                                const CheckpointJudge& judge);

struct KeptCheckpoints {
  Sequence oldest = kNoSequence;  // kNoSequence: none is kept
  Sequence newest = kNoSequence;
};
// Removes all but the newest `keep` of this journal and fold, and every leftover; syncs the
// directory. `keep` is at least 1. What does not count as kept: a file whose header or length is
// wrong, and one of another version or size of the fold (both go once `keep` newer ones are there);
// and one of another journal (it goes at once: after a reset its sequence may be higher than any
// new one). Names that are no checkpoint's are left alone. Returns the as-of sequences of those
// that are kept.
absl::StatusOr<KeptCheckpoints> retain_checkpoints(Disk& disk, const std::string& directory,
                                                   const FoldShape& shape, const Id128& journal_id,
                                                   std::uint64_t keep);

}  // namespace lapwing
