// The first part of a join from a snapshot, and the state after a gap with OnGap::kSnapshot:
// chooses a checkpoint, loads it, and hands out its entries.
//
// The newest usable checkpoint is chosen. It must be whole and durable, and belong to this journal,
// schema and fold. The journal must list its session, and it must be within that session's end. No
// record after it may have been pruned. text() names each skipped checkpoint with the reason.
// Checkpoints older than requested are not examined.
//
// Each step takes no longer than reading and summing kSnapshotSliceBytes. If a checkpoint is
// removed during its load, or records after it are pruned, there is a newer one. The directory is
// then listed again, as long as newer ones appear, at most kSnapshotListsMax times in total.
//
// Thread safety: one thread. Owns the checkpoint.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/fold.h"
#include "lapwing/gap.h"
#include "lapwing/sequence.h"
#include "lapwing/subscriber.h"
#include "os/posix_io.h"
#include "snapshot/checkpoint/checkpoint_directory.h"
#include "snapshot/checkpoint/checkpoint_load.h"
#include "snapshot/checkpoint/loaded_checkpoint.h"
#include "snapshot/schema/record_identity.h"
#include "subscribers/attachment.h"

namespace lapwing {

inline constexpr std::size_t kSnapshotSliceBytes = 1024 * 1024;  // of a checkpoint, in one step

inline constexpr int kSnapshotListsMax = 8;

// Ok if a fold with this shape fits the bus's records. Errors: kInvalidArgument.
absl::Status check_fold(const FoldShape& shape, const RecordIdentity& records);
// Returns `fold` or, if it is null, the fold with that name (by default the
// schema's), after check_fold().
absl::StatusOr<std::shared_ptr<const Fold>> choose_fold(std::shared_ptr<const Fold> fold,
                                                        const std::string& name,
                                                        const RecordIdentity& records);

// Ok unless a fold is set both by name and as an object. Errors: kInvalidArgument.
absl::Status check_fold_choice(const std::string& fold,
                               const std::shared_ptr<const Fold>& own_fold);

class SnapshotJoin {
 public:
  enum class Progress {
    kLoading,
    kLoaded,
    kNone,  // no checkpoint can be used
  };

  // Loads a checkpoint of `fold`, which fits the bus's records. After a gap, the checkpoint's
  // sequence must be in the gap or after it.
  SnapshotJoin(std::shared_ptr<const Fold> fold, const std::string& bus,
               const std::optional<Gap>& gap);

  Progress progress() const { return progress_; }
  // Continues the load.
  void step(const Attachment& attachment);

  const std::shared_ptr<const Fold>& fold() const { return fold_; }
  // The gap that the state replaces.
  const std::optional<Gap>& gap() const { return gap_; }
  // Describes the checkpoint and the skipped ones, or why there is none.
  const std::string& text() const { return text_; }

  // For kLoaded: the state's as-of sequence, the number of its entries, and the next entry (an
  // empty span after the last one).
  Sequence as_of() const { return checkpoint_->header().sequence; }
  std::uint64_t size() const { return checkpoint_->size(); }
  std::span<const std::byte> next();

 private:
  void list();
  void none_left();
  void begin_next(const Attachment& attachment);
  void pass_over(const absl::Status& why);

  std::shared_ptr<const Fold> fold_;
  std::string directory_;  // of the fold's checkpoints
  const std::optional<Gap> gap_;
  const Sequence newer_than_;  // kNoSequence: any checkpoint will do
  std::unique_ptr<PosixDisk> disk_ = std::make_unique<PosixDisk>();  // before its borrowers
  Progress progress_ = Progress::kLoading;
  bool listed_ = false;
  int lists_ = 0;                     // number of listings so far
  Sequence newest_ = kNoSequence;     // in the last list
  std::deque<CheckpointFile> files_;  // in the list, not tried yet
  CheckpointFile file_;               // the one being loaded or last loaded
  std::optional<CheckpointLoad> load_;
  bool overtaken_ = false;                // a listed one was removed, or records after it pruned
  std::vector<std::string> passed_over_;  // a line for each
  std::optional<LoadedCheckpoint> checkpoint_;
  std::uint64_t delivered_ = 0;  // entries
  std::string text_;
};

}  // namespace lapwing
