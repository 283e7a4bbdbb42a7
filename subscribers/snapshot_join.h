// The first part of a join from a snapshot, and what comes after a gap with OnGap::kSnapshot:
// chooses a checkpoint, loads it, hands out its entries.
//
// The newest one is taken that is whole, of this journal, of a session that it lists and within
// that session's end, of this schema and fold, durable, and after which nothing was pruned. Each
// that is passed over is named, with the reason, in text(); older ones than are asked for are not
// looked at.
//
// Loading goes on step by step, each no longer than reading and summing kSnapshotSliceBytes takes.
// One that is removed meanwhile, or that the journal is pruned past, has a newer one: the directory
// is looked at again, as long as there is a newer one, at most kSnapshotListsMax times in all.
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

inline constexpr std::size_t kSnapshotSliceBytes = 1024 * 1024;  // read of a checkpoint at a time

inline constexpr int kSnapshotListsMax = 8;

// Ok if a fold of that shape is for the records of this bus. Errors: kInvalidArgument.
absl::Status check_fold(const FoldShape& shape, const RecordIdentity& records);
// `fold`, or where there is none the one of that name, by default the schema's; checked.
absl::StatusOr<std::shared_ptr<const Fold>> choose_fold(std::shared_ptr<const Fold> fold,
                                                        const std::string& name,
                                                        const RecordIdentity& records);

// Ok unless a fold is asked for by its name and as an object, too. Errors: kInvalidArgument.
absl::Status check_fold_choice(const std::string& fold,
                               const std::shared_ptr<const Fold>& own_fold);

class SnapshotJoin {
 public:
  enum class Progress {
    kLoading,
    kLoaded,
    kNone,  // no checkpoint can be used
  };

  // Loads a checkpoint of `fold`, which is for the records of this bus. After a gap it has to be as
  // of a sequence in the gap or behind it.
  SnapshotJoin(std::shared_ptr<const Fold> fold, const std::string& bus,
               const std::optional<Gap>& gap);

  Progress progress() const { return progress_; }
  // Goes on loading.
  void step(const Attachment& attachment);

  const std::shared_ptr<const Fold>& fold() const { return fold_; }
  // The gap that the state follows.
  const std::optional<Gap>& gap() const { return gap_; }
  // Which checkpoint it is, and what was passed over; or why there is none.
  const std::string& text() const { return text_; }

  // kLoaded: the sequence that the state is as of, its entries, and one after the other of them; an
  // empty span after the last.
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
  std::unique_ptr<PosixDisk> disk_ = std::make_unique<PosixDisk>();  // before what borrows it
  Progress progress_ = Progress::kLoading;
  bool listed_ = false;
  int lists_ = 0;                     // that were made
  Sequence newest_ = kNoSequence;     // of the last of them
  std::deque<CheckpointFile> files_;  // of the list, that were not tried yet
  CheckpointFile file_;               // of those the one that is, or was, loaded
  std::optional<CheckpointLoad> load_;
  bool overtaken_ = false;                // one of the list was removed, or pruned past
  std::vector<std::string> passed_over_;  // a line for each of the list
  std::optional<LoadedCheckpoint> checkpoint_;
  std::uint64_t delivered_ = 0;  // entries
  std::string text_;
};

}  // namespace lapwing
