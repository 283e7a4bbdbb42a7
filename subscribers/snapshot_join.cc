#include "subscribers/snapshot_join.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lapwing/error.h"
#include "snapshot/checkpoint/checkpoint_judge.h"
#include "snapshot/checkpoint/checkpoint_ownership.h"

namespace lapwing {
namespace {

// Ok if the journal still has the records after `as_of`.
absl::Status check_followed(Sequence as_of, const Attachment& attachment) {
  const Sequence oldest = attachment.bounds().oldest;
  if (as_of + 1 >= oldest) return absl::OkStatus();
  return make_error(Errc::kPruned,
                    absl::StrCat("is as of ", as_of, ", and the journal begins with ", oldest,
                                 ": the records between them are pruned"));
}

// Returns a judge that uses the current sessions, `durable` and `oldest`.
CheckpointJudge judge_by(const Attachment& attachment) {
  const CheckpointJudge of_history = make_checkpoint_judge(
      attachment.journal()->sessions(), attachment.journal_id(), attachment.bounds().durable);
  return [of_history, &attachment](const CheckpointHeader& header) {
    absl::Status status = of_history(header);
    return status.ok() ? check_followed(header.sequence, attachment) : status;
  };
}

}  // namespace

absl::Status check_fold_choice(const std::string& fold,
                               const std::shared_ptr<const Fold>& own_fold) {
  if (fold.empty() || own_fold == nullptr) return absl::OkStatus();
  return make_error(Errc::kInvalidArgument,
                    absl::StrCat("fold (", fold, ") and own_fold (", own_fold->shape().name,
                                 ") are both set. Leave one of them out"));
}

absl::Status check_fold(const FoldShape& shape, const RecordIdentity& records) {
  if (shape.schema == records.schema && shape.record_bytes == records.record_bytes) {
    return absl::OkStatus();
  }
  return make_error(
      Errc::kInvalidArgument,
      absl::StrCat("the fold ", shape.name, " is for ", shape.schema, " records of ",
                   shape.record_bytes, " bytes, but this bus carries ", records.schema,
                   " records of ", records.record_bytes, ": join again with a fold for those"));
}

absl::StatusOr<std::shared_ptr<const Fold>> choose_fold(std::shared_ptr<const Fold> fold,
                                                        const std::string& name,
                                                        const RecordIdentity& records) {
  if (fold == nullptr) {
    const std::string chosen = name.empty() ? default_fold(records.schema) : name;
    absl::StatusOr<std::unique_ptr<Fold>> made = records.description
                                                     ? make_fold(chosen, *records.description)
                                                     : make_fold(chosen, records.schema);
    if (!made.ok()) return made.status();
    fold = *std::move(made);
  }
  if (absl::Status fits = check_fold(fold->shape(), records); !fits.ok()) return fits;
  return fold;
}

SnapshotJoin::SnapshotJoin(std::shared_ptr<const Fold> fold, const std::string& bus,
                           const std::optional<Gap>& gap)
    : fold_(std::move(fold)),
      directory_(checkpoint_directory(bus, fold_->shape().name)),
      gap_(gap),
      newer_than_(gap ? gap->first - 1 : kNoSequence) {}

void SnapshotJoin::step(const Attachment& attachment) {
  if (!listed_) return list();
  if (!load_ && files_.empty()) return none_left();
  if (!load_) return begin_next(attachment);
  if (absl::Status status = load_->step(kSnapshotSliceBytes); !status.ok())
    return pass_over(status);
  if (!load_->done()) return;
  // The journal may have been pruned during the load.
  if (absl::Status followed = check_followed(file_.as_of, attachment); !followed.ok()) {
    return pass_over(make_error(errc_of(followed),
                                absl::StrCat(file_.path, ": ", std::string(followed.message()))));
  }
  absl::StatusOr<LoadedCheckpoint> checkpoint = load_->finish();
  if (!checkpoint.ok()) return pass_over(checkpoint.status());
  checkpoint_.emplace(*std::move(checkpoint));
  progress_ = Progress::kLoaded;
  text_ = absl::StrCat(size(), " entries from ", file_.path);
  if (!passed_over_.empty()) {
    absl::StrAppend(&text_, "; passed over: ", absl::StrJoin(passed_over_, "; "));
  }
}

void SnapshotJoin::begin_next(const Attachment& attachment) {
  file_ = files_.front();
  files_.pop_front();
  absl::StatusOr<CheckpointLoad> load =
      begin_checkpoint(*disk_, file_, fold_->shape(), judge_by(attachment));
  if (!load.ok()) return pass_over(load.status());
  load_.emplace(*std::move(load));
}

// Lists the checkpoints, newest first. If a later list has no newer one, all have been tried.
void SnapshotJoin::list() {
  listed_ = true;
  overtaken_ = false;
  absl::Status status = check_checkpoint_directory(directory_);
  absl::StatusOr<std::vector<CheckpointFile>> files = std::vector<CheckpointFile>{};
  disk_->anchor(directory_);
  if (status.ok()) files = list_checkpoints(*disk_, directory_);
  if (status.ok()) status = files.status();
  if (status.ok() && newer_than_ != kNoSequence) {
    std::erase_if(*files, [this](const CheckpointFile& file) { return file.as_of <= newer_than_; });
  }
  const Sequence newest = files.ok() && !files->empty() ? files->front().as_of : kNoSequence;
  if (++lists_ > 1 && status.ok() && newest <= newest_) return;
  newest_ = newest;
  passed_over_.clear();
  if (status.ok()) {
    files_.assign(files->begin(), files->end());
  } else {
    passed_over_.emplace_back(status.message());
  }
}

// If a checkpoint was removed or its records were pruned during this join, there is a newer one.
void SnapshotJoin::none_left() {
  if (overtaken_ && lists_ < kSnapshotListsMax) {
    listed_ = false;
    return;
  }
  progress_ = Progress::kNone;
  if (!passed_over_.empty()) {
    text_ = absl::StrCat("no checkpoint that can be used: ", absl::StrJoin(passed_over_, "; "));
  } else if (newer_than_ == kNoSequence) {
    text_ = absl::StrCat("no checkpoint in ", directory_);
  } else {
    text_ = absl::StrCat("no checkpoint in ", directory_, " is newer than sequence ", newer_than_);
  }
}

void SnapshotJoin::pass_over(const absl::Status& why) {
  load_.reset();
  const Errc code = errc_of(why);
  overtaken_ = overtaken_ || code == Errc::kNotFound || code == Errc::kPruned;
  passed_over_.emplace_back(why.message());
}

std::span<const std::byte> SnapshotJoin::next() {
  if (delivered_ == checkpoint_->size()) return {};
  return checkpoint_->entry(delivered_++);
}

}  // namespace lapwing
