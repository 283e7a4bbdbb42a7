// How the follower finds a session, joins it, leaves it at its end and goes on with the next.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/kernel.h"
#include "subscribers/follower.h"

namespace lapwing {

Follower::Turn Follower::on_seeking() {
  const std::uint64_t now = monotonic_ns();
  absl::StatusOr<std::optional<Attachment>> found = search_.step(now);
  if (!found.ok()) return end(found.status());
  if (*found) return on_found(*std::move(*found));
  if (gone_ && search_.unanswered()) {
    return announce(ItemKind::kPublisherGone, *std::exchange(gone_, std::nullopt), search_.left());
  }
  absl::Status given_up = search_.given_up(now);
  return given_up.ok() ? nothing() : end(std::move(given_up));
}

Follower::Turn Follower::on_found(Attachment found) {
  absl::Status fits = check_policy(options_, found);
  if (fits.ok() && !joined_) fits = check_start(options_, found);
  // Whoever has a state would fold into it what comes.
  if (fits.ok() && fold_ != nullptr) fits = check_fold(fold_->shape(), found);
  if (!fits.ok()) return end(std::move(fits));
  const bool same_session = joined_ && found.session_id() == session_id_;
  attachment_.emplace(std::move(found));
  session_id_ = attachment_->session_id();
  cursor_.ring = attachment_->ring();
  watch_.attach(attachment_->control() != nullptr);
  schema_ = attachment_->schema();
  schema_note_ = attachment_->schema_note();
  cursor_.record_bytes = attachment_->record_bytes();
  block_.resize(cursor_.record_bytes);
  record_ = block_.first_place();
  row_bytes_ = cursor_.record_bytes;
  reporter_.restart();
  if (!joined_) return join();
  cursor_.ledger.reattached();
  const std::optional<Sequence> gone = std::exchange(gone_, std::nullopt);
  if (same_session) {
    floating_ = false;  // its publisher was only slow to come: live begins here
  } else {
    if (gone) announce(ItemKind::kPublisherGone, *gone, search_.left());
    rejoin();
  }
  enter_stream();
  return again();
}

// Steps 1 and 2 of docs/bootstrap.md. Without a publisher nothing can be asked: F is the end of
// what it left.
Follower::Turn Follower::join() {
  joined_ = true;
  backlog_.begin(attachment_->newest());
  if (attachment_->control() == nullptr || journal() == nullptr) return begin();
  if (absl::Status asked = backlog_.ask(*attachment_->control(), monotonic_ns()); !asked.ok()) {
    return end(std::move(asked));
  }
  cursor_.phase = Phase::kFlushing;
  return again();
}

Follower::Turn Follower::on_flushing() {
  const absl::StatusOr<bool> flushed = backlog_.flushed(*attachment_->control(), monotonic_ns());
  if (flushed.ok()) return *flushed ? begin() : nothing();
  if (errc_of(flushed.status()) != Errc::kPublisherGone) return end(flushed.status());
  watch_.hung_up();
  return begin();
}

// Steps 3 and 4: S by the chosen start, then the stream from S + 1.
Follower::Turn Follower::begin() {
  if (options_.start.kind == Start::Kind::kSnapshot) return begin_snapshot();
  absl::StatusOr<StartingPoint> start = choose_start(options_, *attachment_, backlog_.joined_at());
  if (!start.ok()) return end(start.status());
  return begin_at(*std::move(start));
}

Follower::Turn Follower::begin_at(StartingPoint start) {
  cursor_.next = start.next;
  trail_.start(attachment_->journal_id(), attachment_->sessions(), cursor_.next);
  cursor_.ledger.session_seen();
  floating_ = options_.start.kind == Start::Kind::kLive && attachment_->control() == nullptr;
  if (!introduced_) introduce(cursor_.next);
  if (!start.reset.empty()) {
    before_beginning_ = *options_.start.position;
    announce(ItemKind::kReset, cursor_.next, std::move(start.reset));
  } else if (options_.start.position) {
    cursor_.ledger.resume_after(options_.start.position->sequence);
  }
  enter_stream();
  return again();
}

// Another session: of the same journal, which goes on at the kept position, or of another history.
void Follower::rejoin() {
  std::string why = why_start_over(trail_, cursor_.ledger.held(), *attachment_);
  if (!why.empty()) return start_over(std::move(why));
  trail_.extend(attachment_->sessions());
  if (std::exchange(floating_, false))
    cursor_.next = std::max(cursor_.next, attachment_->session_first());
  pass_over_void();
}

void Follower::start_over(std::string why) {
  before_beginning_ = position();
  cursor_.next = oldest_of(*attachment_);
  backlog_.restart(attachment_->newest());
  floating_ = false;
  cursor_.ledger.restart();
  cursor_.ledger.session_seen();
  trail_.start(attachment_->journal_id(), attachment_->sessions(), cursor_.next);
  announce(ItemKind::kReset, cursor_.next, std::move(why));
}

// A power cut that took exactly what this subscriber has, and no more, leaves nothing to lose. It
// gets an event all the same, with a range of no records, because the journal does not hold what it holds.
void Follower::pass_over_void() {
  Sequence first = 0;
  Sequence last = 0;
  if (cursor_.ledger.held() == kNoSequence) return;
  if (!journal()->sessions().in_void(trail_.journal_id(), cursor_.next - 1, first, last)) return;
  if (last != cursor_.next - 1 || cursor_.ledger.held() < first) return;
  const Gap nothing_lost{cursor_.next, last, cursor_.next, GapCause::kVoid, false};
  announce(ItemKind::kLost, cursor_.next, void_text(first, last), nothing_lost);
}

// Step 4: the ring with a quarter of its slots to spare, the journal otherwise.
void Follower::enter_stream() {
  const bool in_ring =
      cursor_.ring != nullptr && cursor_.next >= cursor_.ring->oldest() &&
      cursor_.ring->lag(cursor_.next) <= cursor_.ring->capacity() - cursor_.ring->capacity() / 4;
  cursor_.phase = journal() == nullptr || in_ring ? Phase::kLive : Phase::kCatchUp;
  catch_up_.start();
  seen_head_ = 0;
  watch_.start(counters().records, monotonic_ns());
  set_attention();
}

// The session is read to its end: the ring was empty once more after the watch had seen the end.
Follower::Turn Follower::leave() {
  const Ending how = watch_.ending();
  attachment_->hang_up();
  const bool closed = attachment_->closed();
  // A start in the future may not have been reached.
  const Sequence last =
      counters().records > 0 ? cursor_.next - 1 : std::min(cursor_.next - 1, attachment_->newest());
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
  search_.start({how == Ending::kSilent ? Id128{} : session_id_, closed, text, cursor_.next});
  if (closed) {
    if (options_.end_at_close) cursor_.phase = Phase::kEnded;
    return announce(ItemKind::kClosed, last, std::move(text));
  }
  // A socket is also closed on a client that was dropped: first see whether the same session
  // answers. Not in this call: the records of one batch are of one session, and of one size.
  if (how == Ending::kHungUp) {
    gone_ = last;
    return nothing();
  }
  return announce(ItemKind::kPublisherGone, last, std::move(text));
}

Follower::Turn Follower::end(absl::Status status) {
  status_ = std::move(status);
  close_everything();
  cursor_.phase = Phase::kEnded;
  cursor_.attention = 0;
  return again();
}

void Follower::close_everything() {
  durable_when_left_ = durable();
  search_.stop();
  cursor_.ring = nullptr;
  attachment_.reset();
}

// Stays before an event that is announced and not delivered: whoever stores the position now gets
// it again.
StoredPosition Follower::position() const {
  if (outbox_.has_beginning()) return before_beginning_;
  if (trail_.empty()) return options_.start.position.value_or(StoredPosition{});
  return trail_.position(outbox_.loss_is_first() ? outbox_.first().gap.first : cursor_.next);
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
