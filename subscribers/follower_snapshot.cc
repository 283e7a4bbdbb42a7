// How the follower begins with a state: a checkpoint, delivered entry by entry, before the stream.
#include <utility>

#include "absl/strings/str_cat.h"
#include "os/kernel.h"
#include "subscribers/follower.h"

namespace lapwing {

Follower::Turn Follower::begin_snapshot() {
  absl::StatusOr<SnapshotJoin> snapshot =
      SnapshotJoin::begin(options_.start, options_.directory, *attachment_);
  if (!snapshot.ok()) return end(snapshot.status());
  snapshot_.emplace(*std::move(snapshot));
  cursor_.phase = Phase::kSnapshot;
  return again();
}

Follower::Turn Follower::on_snapshot() {
  if (snapshot_->progress() == SnapshotJoin::Progress::kLoaded) return deliver_state();
  snapshot_->step(*attachment_);
  if (snapshot_->progress() == SnapshotJoin::Progress::kLoading) {
    report(monotonic_ns());
    return nothing();
  }
  fold_ = snapshot_->fold();
  if (snapshot_->progress() == SnapshotJoin::Progress::kNone) return without_snapshot();
  state_size_ = snapshot_->size();
  row_bytes_ = fold_->shape().entry_bytes;
  return again();
}

// The next entry; after the last one the stream, from S + 1.
Follower::Turn Follower::deliver_state() {
  if (!introduced_) return introduce(snapshot_->as_of() + 1);
  const std::span<const std::byte> entry = snapshot_->next();
  if (!entry.empty()) {
    record_ = entry.data();
    cursor_.ledger.take_state();
    return announce(ItemKind::kState, fold_->place_of(entry));
  }
  const Sequence as_of = snapshot_->as_of();
  backlog_.extend(as_of);  // newer than F where it was written during the join
  std::string text = snapshot_->text();
  end_snapshot();
  begin_at({as_of + 1, ""});
  cursor_.ledger.resume_after(as_of);
  return announce(ItemKind::kSnapshotComplete, as_of, std::move(text));
}

// Whoever asked for a state has to know of everything that is not in it: what goes missing before
// the first record is lost, other than to who asked for the oldest record (joining_from_oldest).
Follower::Turn Follower::without_snapshot() {
  std::string why = snapshot_->text();
  end_snapshot();
  const StartingPoint oldest{oldest_of(*attachment_), ""};
  absl::StrAppend(&why, "; begins with sequence ", oldest.next, ", the oldest that is kept");
  begin_at(oldest);
  return announce(ItemKind::kNoSnapshot, oldest.next, std::move(why));
}

void Follower::end_snapshot() {
  snapshot_.reset();
  record_ = block_.first_place();
  row_bytes_ = cursor_.record_bytes;
}

}  // namespace lapwing
