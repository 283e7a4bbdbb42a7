// What the follower does about laps in the ring and about records that neither place has.
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "subscribers/follower.h"

namespace lapwing {
// The ring has no record cursor_.next any more (lapped), or something else in its place (corrupt), which
// is treated as a lap of one record.
Follower::Turn Follower::on_lap(const RingReadResult& read) {
  const bool corrupt = read.outcome == RingRead::kCorrupt;
  const Sequence resume = corrupt ? cursor_.next + 1 : read.resume;
  const GapCause cause = corrupt ? GapCause::kDamaged : GapCause::kLapped;
  if (!backlog_.caught_up() && journal() != nullptr) {
    catch_up_.keep_to_journal_below(resume);
    cursor_.phase = Phase::kCatchUp;
    return again();
  }
  if (!corrupt && joining_from_oldest()) {
    cursor_.next = resume;
    return again();
  }
  const Gap gap{cursor_.next, resume - 1, resume, cause,
                may_be_filled(cursor_.next, resume - 1, cause)};
  std::string text;
  if (corrupt) {
    text = absl::StrCat("the ring's slot of sequence ", cursor_.next, " holds stamp ", read.stamp,
                        ", which no correct publisher can have written");
  }
  switch (options_.on_gap) {
    case OnGap::kFill:
      cursor_.ledger.gap_to_fill(gap);
      catch_up_.keep_to_journal_below(resume);
      cursor_.phase = Phase::kCatchUp;
      break;
    case OnGap::kSkip:
      cursor_.ledger.gap_skipped(gap);
      cursor_.next = resume;
      break;
    case OnGap::kStop:
      cursor_.ledger.gap_stopped_at();
      end_at_gap(gap);
      text = std::string(status_.message());
      break;
  }
  return announce(ItemKind::kGap, gap.first, std::move(text), gap);
}

void Follower::end_at_gap(const Gap& gap) {
  if (attachment_->control() != nullptr) {
    reporter_.send(*attachment_->control(), cursor_.next - 1, attachment_->newest(), counters(),
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
  return last <= bounds.archived ||
         (cause == GapCause::kLapped && !watch_.ended() && attachment_->archiving());
}

// Records cursor_.next … hole.last cannot be had.
Follower::Turn Follower::on_hole(CatchUp::Read hole) {
  const Gap gap{cursor_.next, hole.last, hole.last + 1, hole.cause, false};
  if (hole.cause == GapCause::kVoid) hole.detail = void_text(gap.first, gap.last);
  cursor_.next = gap.last + 1;
  if (hole.cause != GapCause::kDamaged && joining_from_oldest()) return again();
  cursor_.ledger.lost(gap);
  return announce(ItemKind::kLost, gap.first, std::move(hole.detail), gap);
}

// What is missing in [first, last] of a void, and what this subscriber has of the void that the
// journal has not.
std::string Follower::void_text(Sequence first, Sequence last) const {
  Sequence void_first = first;
  Sequence void_last = last;
  journal()->sessions().in_void(trail_.journal_id(), last, void_first, void_last);
  std::string text = absl::StrCat("sequences ", void_first, " to ", void_last,
                                  " were lost in a crash and will never exist");
  if (cursor_.ledger.held() >= void_first) {
    absl::StrAppend(&text, "; this subscriber holds ", void_first, " to ", cursor_.ledger.held(),
                    ", which the journal does not");
  }
  return text;
}

// Whoever asked for the oldest record, and has none yet of those up to the join, loses nothing by
// what is not there any more.
bool Follower::joining_from_oldest() const {
  return options_.start.kind == Start::Kind::kOldest && !backlog_.caught_up() &&
         counters().records == 0;
}

}  // namespace lapwing
