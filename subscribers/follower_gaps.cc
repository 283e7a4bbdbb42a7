// What the follower does about laps in the ring and holes in the journal.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/kernel.h"
#include "snapshot/journal/missing_file.h"
#include "subscribers/follower.h"

namespace lapwing {
// The ring has no record next_ any more (lapped), or something else in its place (corrupt), which
// is treated as a lap of one record.
Follower::Turn Follower::on_lap(const RingReadResult& read) {
  const bool corrupt = read.outcome == RingRead::kCorrupt;
  const Sequence resume = corrupt ? next_ + 1 : read.resume;
  const GapCause cause = corrupt ? GapCause::kDamaged : GapCause::kLapped;
  if (!caught_up_ && journal() != nullptr) {
    ring_floor_ = resume;
    phase_ = Phase::kCatchUp;
    return again();
  }
  if (!corrupt && joining_from_oldest()) {
    next_ = resume;
    return again();
  }
  const Gap gap{next_, resume - 1, resume, cause, may_be_filled(next_, resume - 1, cause)};
  std::string text;
  if (corrupt) {
    text = absl::StrCat("the ring's slot of sequence ", next_, " holds stamp ", read.stamp,
                        ", which no correct publisher can have written");
  }
  switch (options_.on_gap) {
    case OnGap::kFill:
      ledger_.gap_to_fill(gap);
      ring_floor_ = resume;
      phase_ = Phase::kCatchUp;
      break;
    case OnGap::kSkip:
      ledger_.gap_skipped(gap);
      next_ = resume;
      break;
    case OnGap::kStop:
      ledger_.gap_stopped_at();
      end_at_gap(gap);
      text = std::string(status_.message());
      break;
  }
  return announce(ItemKind::kGap, gap.first, std::move(text), gap);
}

void Follower::end_at_gap(const Gap& gap) {
  if (attachment_->control() != nullptr) {
    reporter_.send(*attachment_->control(), next_ - 1, attachment_->newest(), counters(),
                   ClientState::kStopped);
  }
  end(make_error(Errc::kStoppedAtGap,
                 absl::StrCat("stopped at a gap, ", name_of(gap.cause), ", of sequences ",
                              gap.first, " to ", gap.last, ", as asked; continue from ", gap.first,
                              " with the policy fill or skip")));
}

// Whether the journal holds the range, or will: a slot leaves the ring only once it is archived.
bool Follower::may_be_filled(Sequence first, Sequence last, GapCause cause) const {
  if (journal() == nullptr) return false;
  const JournalBounds bounds = attachment_->bounds();
  if (first < bounds.oldest) return false;
  return last <= bounds.archived || (cause == GapCause::kLapped && archiving());
}

Follower::Turn Follower::from_journal(const JournalBounds& bounds, std::span<std::byte> out) {
  if (missing_ && monotonic_ns() < missing_->retry_ns) return on_idle();
  const absl::StatusOr<JournalRun> run =
      journal()->read(next_, bounds, out.first(room_in(out) * record_bytes_));
  if (!run.ok()) return end(run.status());
  if (run->count > 0) {
    missing_.reset();
    return run->count;
  }
  if (run->gap) return on_hole(*run, out);
  return on_idle();
}

// Record next_ is beyond `archived`, so its slot cannot have been overwritten: unless the journal
// has failed, or `archived` has passed it meanwhile.
Follower::Turn Follower::from_ring_beyond_archived(std::span<std::byte> out) {
  const auto [records, read] = ring_->read_run(next_, out.data(), room_in(out), seen_head_);
  if (records > 0) return records;
  if (read.outcome == RingRead::kEmpty) {
    phase_ = Phase::kLive;
    return again();
  }
  // Loaded after the stamp: what let the slot be overwritten is seen here.
  if (next_ <= attachment_->bounds().archived) return again();
  if (archiving()) return on_idle();
  if (read.outcome == RingRead::kCorrupt) {
    return lose(next_, GapCause::kDamaged,
                absl::StrCat("sequence ", next_, " is damaged in the ring (stamp ", read.stamp,
                             ") and not in the journal"));
  }
  if (joining_from_oldest()) {
    next_ = read.resume;
    return again();
  }
  return lose(read.resume - 1, GapCause::kLapped,
              absl::StrCat("sequences ", next_, " to ", read.resume - 1,
                           " were overwritten in the ring after the journal had failed"));
}

// The journal says that it does not hold next_ … hole.gap_last. The ring still may, unless that
// range never existed.
Follower::Turn Follower::on_hole(const JournalRun& hole, std::span<std::byte> out) {
  Sequence last = hole.gap_last;
  if (ring_ != nullptr && hole.cause != GapCause::kVoid) {
    const RingReadResult read = ring_->try_read(next_, out.data());
    if (read.outcome == RingRead::kRecord) return 1;
    if (read.outcome == RingRead::kLapped) last = std::min(last, read.resume - 1);
    if (read.outcome == RingRead::kCorrupt) last = next_;
  }
  if (hole.cause != GapCause::kDamaged && joining_from_oldest()) {
    next_ = last + 1;
    return again();
  }
  if (hole.cause == GapCause::kVoid) return lose(last, hole.cause, void_text(next_, last));
  if (hole.missing_file) {
    if (may_come_back(hole)) return on_idle();
    return lose(last, hole.cause,
                absl::StrCat(hole.detail, "; it was asked for in vain for ",
                             (monotonic_ns() - missing_->since_ns) / kNsPerMs, " ms"));
  }
  if (hole.cause == GapCause::kDamaged) return lose(last, hole.cause, hole.detail);
  return lose(last, hole.cause,
              absl::StrCat("sequences ", next_, " to ", last, " are no longer kept: the oldest is ",
                           hole.gap_last + 1));
}

// Whether to ask again for a file that is missing rather than to report its records as lost. Time
// runs from the first of several that are missing in a row.
bool Follower::may_come_back(const JournalRun& hole) {
  const std::uint64_t now = monotonic_ns();
  if (!missing_) missing_ = MissingFiles{now, now};
  if (hole.directory == AnchorState::kRemoved) return false;
  if (now - missing_->since_ns >= ns_of(options_.missing_file_grace)) return false;
  missing_->retry_ns = now + kMissingFileRetryNs;
  return true;
}

Follower::Turn Follower::lose(Sequence last, GapCause cause, std::string why) {
  const Gap gap{next_, last, last + 1, cause, false};
  ledger_.lost(gap);
  next_ = last + 1;
  return announce(ItemKind::kLost, gap.first, std::move(why), gap);
}

// What is missing in [first, last] of a void, and what this subscriber has of the void that the
// journal has not.
std::string Follower::void_text(Sequence first, Sequence last) const {
  Sequence void_first = first;
  Sequence void_last = last;
  journal()->sessions().in_void(journal_id_, last, void_first, void_last);
  std::string text = absl::StrCat("sequences ", void_first, " to ", void_last,
                                  " were lost in a crash and will never exist");
  if (ledger_.held() >= void_first) {
    absl::StrAppend(&text, "; this subscriber holds ", void_first, " to ", ledger_.held(),
                    ", which the journal does not");
  }
  return text;
}

// Whoever asked for the oldest record, and has none yet of those up to the join, loses nothing by
// what is not there any more.
bool Follower::joining_from_oldest() const {
  return from_oldest_ && !caught_up_ && counters().records == 0;
}

}  // namespace lapwing
