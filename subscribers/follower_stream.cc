// The follower while records come: kCatchUp and kLive, what stands between two records, and the
// end.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/kernel.h"
#include "subscribers/follower.h"

namespace lapwing {

// One turn of the machine, while the outbox is empty. Records go into `out`, as many as fit and are
// there before the next event.
Follower::Turn Follower::turn(std::span<std::byte> out) {
  if (cursor_.next >= cursor_.due && cursor_.reads() && reach_place()) return again();
  switch (cursor_.phase) {
    case Phase::kSeeking:
      return on_seeking();
    case Phase::kFlushing:
      return on_flushing();
    case Phase::kSnapshot:
      return on_snapshot();
    case Phase::kCatchUp:
      return on_catch_up(out);
    case Phase::kLive:
      return on_live(out);
    case Phase::kEnded:
    case Phase::kForked:
      break;
  }
  outbox_.add({.kind = DueKind::kEnd}, "");
  cursor_.attention = 0;
  return again();
}

Follower::Turn Follower::announce(EventKind kind, Sequence sequence, std::string text,
                                  const Gap& gap) {
  liveness_.end_at(kind);
  if (liveness_.is_awaited()) spins_left_ = 0;  // the next empty read is to look
  outbox_.add({.kind = DueKind::kEvent, .sequence = sequence, .event = kind}, std::move(text), gap);
  cursor_.attention = 0;
  return again();
}

Due Follower::deliver_event() {
  const Due due = outbox_.take();
  set_attention();
  return due;
}

// Announces what has its place before record cursor_.next; where that is nothing, does the upkeep.
// False: nothing was announced.
bool Follower::reach_place() {
  if (trail_.step(cursor_.next)) {
    if (absl::Status chosen = choose_instruments(trail_.current()); !chosen.ok()) {
      end(std::move(chosen));
      return false;
    }
    cursor_.ledger.session_seen();
    const bool is_newest = trail_.current() == session_id_;
    announce(EventKind::kSession, cursor_.next, is_newest ? attachment_->take_why_no_place() : "");
  } else if (backlog_.step(cursor_.next)) {
    announce(EventKind::kCaughtUp, backlog_.last(), backlog_.not_durable());
  } else {
    const std::uint64_t now = monotonic_ns();
    report(now);
    if (!tell_liveness(now)) set_attention();
  }
  return !outbox_.empty();
}

// The first session, of which the record at `first` comes first.
Follower::Turn Follower::introduce(Sequence first) {
  join_ = Join::kIntroduced;
  return announce(EventKind::kSession, first, attachment_->take_why_no_place());
}

void Follower::set_attention() {
  cursor_.attention = cursor_.due = 0;
  if (!cursor_.reads() || !outbox_.empty()) return;
  // Nobody becomes live in the journal.
  const std::uint64_t to_look = cursor_.phase == Phase::kLive
                                    ? liveness_.records_between_looks(kUpkeepRecords)
                                    : kUpkeepRecords;
  cursor_.due = std::min({cursor_.next + to_look, trail_.next_first(), backlog_.next_due()});
  cursor_.attention = filter_ ? std::min(cursor_.due, Sequence{1}) : cursor_.due;
}

Follower::Turn Follower::on_catch_up(std::span<std::byte> out) {
  const std::uint64_t room = cursor_.room_in(out, cursor_.due);
  if (room == 0) return nothing();
  absl::StatusOr<CatchUp::Read> read =
      catch_up_.read(*attachment_, cursor_.next, out.first(room * cursor_.record_bytes),
                     watch_.ended(), cursor_.seen_head);
  if (!read.ok()) return end(read.status());
  switch (read->outcome) {
    case CatchUp::Outcome::kRecords:
      return read->records;
    case CatchUp::Outcome::kNothing:
      return on_idle();
    case CatchUp::Outcome::kInRing:
      cursor_.phase = Phase::kLive;
      set_attention();
      return again();
    case CatchUp::Outcome::kHole:
      return on_hole(*std::move(read));
    case CatchUp::Outcome::kAtEnd:
      break;
  }
  return attachment_->is_discarded() ? leave_journal() : leave();
}

Follower::Turn Follower::on_live(std::span<std::byte> out) {
  const RingRun run = cursor_.read_run(out, cursor_.due);
  if (run.records > 0 || run.end.outcome == RingRead::kRecord) return run.records;
  if (run.end.outcome != RingRead::kEmpty) return on_lap(run.end);
  return watch_.ended() ? leave() : on_idle();
}

// The ring has no record cursor_.next any more (lapped), or something else in its place (corrupt),
// which is treated as a lap of one record.
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
    case OnGap::kSnapshot:
      cursor_.ledger.gap_to_fill(gap);
      begin_snapshot(gap);
      break;
  }
  return announce(EventKind::kGap, gap.first, std::move(text), gap);
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
  return announce(EventKind::kLost, gap.first, std::move(hole.detail), gap);
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
// what is not there any more. With a filter nobody could see from the first record where it began.
bool Follower::joining_from_oldest() const {
  return options_.start.kind == Start::Kind::kOldest && !backlog_.caught_up() && !filter_ &&
         counters().records == 0;
}

// There is nothing to deliver now. Looks at the clock now and then, and always where an event loop
// is behind the descriptor, since that does not spin.
Follower::Turn Follower::on_idle() {
  if (spins_left_ > 0) {
    --spins_left_;
    return nothing();
  }
  if (descriptor_ == nullptr) spins_left_ = kSpins;
  const std::uint64_t now = monotonic_ns();
  watch_.look(*attachment_, now);
  if (watch_.ended()) spins_left_ = 0;  // the next empty read is the end
  report(now);
  if (tell_liveness(now)) return again();
  if (!watch_.stale_due(*attachment_, cursor_.ledger.taken(), now)) return nothing();
  return announce(EventKind::kStale, cursor_.next - 1);
}

// Announces that the subscriber has become live or has fallen behind, if it has. Of a session that
// is known to be over there is nothing to be told but its end.
bool Follower::tell_liveness(std::uint64_t now_ns) {
  if (!liveness_.is_told() || !backlog_.caught_up() || watch_.ended()) return false;
  std::optional<Liveness::Change> change =
      liveness_.look({cursor_.next, attachment_->newest(), now_ns, cursor_.phase == Phase::kLive});
  if (!change) return false;
  announce(change->kind, cursor_.next - 1, std::move(change->text));
  return true;
}

void Follower::report(std::uint64_t now_ns) {
  if (attachment_->control() == nullptr) ask_for_place(now_ns);
  if (attachment_->control() == nullptr) return;
  reporter_.report(*attachment_->control(), now_ns, cursor_.next - 1, attachment_->newest(),
                   counters(), client_state());
  if (meter_.ages()) {
    reporter_.report_ages(*attachment_->control(), now_ns, *meter_.ages(), options_.measure_every);
  }
}

void Follower::ask_for_place(std::uint64_t now_ns) {
  if (!attachment_->has_publisher()) return;
  std::optional<ControlClient> control = place_request_.step(search_.client_options(), now_ns);
  if (control && control->welcome().session_id == session_id_) {
    attachment_->take_place(*std::move(control));
  }
}

ClientState Follower::client_state() const {
  if (!backlog_.caught_up()) return ClientState::kJoining;
  return cursor_.phase == Phase::kLive ? ClientState::kLive : ClientState::kFilling;
}

// The session is read to its end: the ring was empty once more after the watch had seen the end.
Follower::Turn Follower::leave() {
  const Ending how = watch_.ending();
  attachment_->hang_up();
  const bool closed = attachment_->closed();
  // A start in the future may not have been reached.
  const Sequence last = cursor_.ledger.taken() > 0
                            ? cursor_.next - 1
                            : std::min(cursor_.next - 1, attachment_->newest());
  std::string text = absl::StrCat(
      "session ", session_id_.hex(), " of bus ", options_.directory,
      closed ? " was closed after sequence " : " ended without a close after sequence ", last);
  if (how == Ending::kSilent) {
    absl::StrAppend(&text, ": its publisher has not moved for ", seconds_of(kHeartbeatLostNs),
                    " s");
  }
  close_everything();
  cursor_.phase = Phase::kSeeking;
  cursor_.attention = 0;
  // A publisher that was only silent may go on and die later: what it leaves then is another look.
  LeftSession left{how == Ending::kSilent ? Id128{} : session_id_, closed, text, cursor_.next};
  // A socket is also closed on a client that was dropped: first see whether the same session
  // answers. Not in this call: the records of one batch are of one session, and of one size.
  if (how == Ending::kHungUp && !closed) left.unreported = last;
  search_.start(std::move(left));
  if (closed) {
    if (options_.end_at_close) cursor_.phase = Phase::kEnded;
    return announce(EventKind::kClosed, last, std::move(text));
  }
  if (how == Ending::kHungUp) return nothing();
  // Of a publisher that was silent first and is dead now it was said already.
  if (std::exchange(gone_said_, {session_id_, last}) == std::pair(session_id_, last))
    return nothing();
  return announce(EventKind::kPublisherGone, last, std::move(text));
}

// Called at the end of a discarded journal. The next one is attached in another call, because the
// records of one batch belong to one session and have one size.
Follower::Turn Follower::leave_journal() {
  const absl::StatusOr<Sequence> published = journal()->published();
  if (!published.ok()) return end(published.status());
  if (*published >= cursor_.next) {
    CatchUp::Read rest{
        .outcome = CatchUp::Outcome::kHole, .last = *published, .cause = GapCause::kSession};
    rest.detail = absl::StrCat("sequences ", cursor_.next, " to ", *published,
                               " were published after journal ", attachment_->journal_id().hex(),
                               " had failed, and are in no file");
    return on_hole(std::move(rest));
  }
  trail_.finish();
  std::string text = absl::StrCat("journal ", attachment_->journal_id().hex(), " of bus ",
                                  options_.directory, " was read to its end");
  close_everything();
  cursor_.phase = Phase::kSeeking;
  cursor_.attention = 0;
  search_.start({Id128{}, /*closed=*/false, std::move(text), cursor_.next});
  return nothing();
}

// An end has a number that no call has which only found nothing.
Follower::Turn Follower::end(absl::Status status) {
  const bool is_unanswered = errc_of(status) == Errc::kTimedOut;
  status_ = is_unanswered ? make_error(Errc::kNoAnswer, std::string(status.message()))
                          : std::move(status);
  close_everything();
  cursor_.phase = Phase::kEnded;
  cursor_.attention = 0;
  return again();
}

void Follower::close_everything() {
  durable_when_left_ = durable();
  search_.stop();
  place_request_.stop();
  cursor_.set_ring(nullptr);
  attachment_.reset();
}

// Stays before an event that is announced and not delivered: whoever stores the position now gets
// it again.
StoredPosition Follower::position() const {
  if (outbox_.has_beginning()) return before_beginning_;
  if (trail_.empty()) return options_.start.position.value_or(StoredPosition{});
  return trail_.position(outbox_.gap_is_first() ? outbox_.first_gap().first : cursor_.next);
}

// A session that is over keeps what its end says and no more: what a cut took of it is never
// durable, although `durable` of the next session lies beyond it.
Sequence Follower::durable() const {
  if (!attachment_ || outbox_.has_beginning()) return durable_when_left_;
  if (journal() == nullptr || trail_.empty()) return 0;
  const Sequence durable = attachment_->bounds().durable;
  const SessionRecord* const session = journal()->sessions().find(trail_.current());
  return session != nullptr && session->end ? std::min(durable, session->end->last) : durable;
}

}  // namespace lapwing
