// The follower until its stream begins, the first time and with every session that follows:
// kSeeking, kFlushing, kSnapshot.
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
  if (search_.unanswered()) {
    const std::optional<Sequence> gone = search_.take_unreported();
    if (gone) return announce(EventKind::kPublisherGone, *gone, search_.left());
  }
  absl::Status given_up = search_.given_up(now);
  return given_up.ok() ? nothing() : end(std::move(given_up));
}

// If there are several journals, the first one that was not read yet is attached. A start in the
// future waits for the newest one.
Follower::Turn Follower::on_found(Attachment found) {
  if (join_ == Join::kFloating) return on_attached(std::move(found));
  const absl::StatusOr<std::optional<ListedJournal>> older =
      choose_discarded(options_, trail_, found);
  if (!older.ok()) return end(older.status());
  if (!*older) return on_attached(std::move(found));
  absl::StatusOr<Attachment> discarded = Attachment::to_discarded(found, **older);
  return discarded.ok() ? on_attached(*std::move(discarded)) : end(discarded.status());
}

absl::Status Follower::check_fits(const Attachment& found) {
  absl::Status fits = check_policy(options_, found);
  if (fits.ok() && options_.expect) fits = check_expected(*options_.expect, found.records());
  if (fits.ok() && join_ == Join::kNotYet) fits = check_start(options_, found);
  if (fits.ok() && options_.on_gap == OnGap::kSnapshot && fold_ == nullptr) {
    fits = choose_fold(options_.start.own_fold, options_.start.fold, found.records()).status();
  }
  // Whoever has a state would fold into it what comes.
  if (fits.ok() && fold_ != nullptr) fits = check_fold(fold_->shape(), found.records());
  // A fold that was named goes by the description that it was made of.
  const bool goes_by_description = fold_ != nullptr && options_.start.own_fold == nullptr;
  if (fits.ok() && goes_by_description && records_.description) {
    fits = check_expected(*records_.description, found.records());
  }
  return fits.ok() ? check_instruments(found) : fits;
}

Follower::Turn Follower::on_attached(Attachment found) {
  if (absl::Status fits = check_fits(found); !fits.ok()) return end(std::move(fits));
  const bool same_session =
      join_ != Join::kNotYet && !found.is_discarded() && found.session_id() == session_id_;
  attachment_.emplace(std::move(found));
  session_id_ = joined_session_ = attachment_->session_id();
  follows_journal_ = attachment_->follows_journal();
  cursor_.set_ring(attachment_->ring());
  watch_.attach(attachment_->has_publisher());
  keep_description(std::exchange(records_, attachment_->records()).description);
  meter_.attach(records_, attachment_->session_first());
  cursor_.measured_from = meter_.due();
  cursor_.record_bytes = attachment_->record_bytes();
  block_.resize(cursor_.record_bytes);
  place_.resize(cursor_.record_bytes / sizeof(Line) + 1);
  cursor_.place = place_.front().bytes;
  reporter_.restart(counters());
  place_request_.start(monotonic_ns());
  if (join_ == Join::kNotYet) return join();
  if (!trail_.is_finished()) cursor_.ledger.reattached();
  const std::optional<Sequence> gone = search_.take_unreported();
  if (same_session) {
    join_ = Join::kIntroduced;  // its publisher was only slow to come: live begins here
  } else {
    if (gone) announce(EventKind::kPublisherGone, *gone, search_.left());
    const bool comes_from_discarded = trail_.is_finished();
    rejoin();
    if (cursor_.phase == Phase::kEnded) return again();
    if (comes_from_discarded && !backlog_.caught_up() && !attachment_->is_discarded()) {
      return join();
    }
  }
  enter_stream();
  return again();
}

// Called before anything else is done with a session. At the join, records of any session of its
// journal may follow.
absl::Status Follower::check_instruments(const Attachment& found) {
  if (!filter_) return absl::OkStatus();
  const bool continues = !trail_.empty() && trail_.journal_id() == found.journal_id();
  return filter_->begin(options_.directory, found.records().description.get(),
                        continues ? trail_.current() : found.sessions().front().id);
}

// The records of that session follow.
absl::Status Follower::choose_instruments(const Id128& session_id) {
  if (!filter_) return absl::OkStatus();
  return filter_->begin(options_.directory, records_.description.get(), session_id);
}

// One object for as long as it says the same: whoever has made something of it compares pointers.
void Follower::keep_description(const std::shared_ptr<const Schema>& before) {
  const std::shared_ptr<const Schema>& now = records_.description;
  if (before != nullptr && now != nullptr && *before == *now) records_.description = before;
}

// Steps 1 and 2 of docs/bootstrap.md. Without a publisher nothing can be asked: F is the end of
// what it left.
Follower::Turn Follower::join() {
  if (join_ == Join::kNotYet) join_ = Join::kAttached;
  backlog_.begin(attachment_->newest());
  if (attachment_->is_discarded()) backlog_.put_off();
  if (!attachment_->has_publisher() || journal() == nullptr) return begin();
  if (attachment_->control() == nullptr) {
    backlog_.cannot_ask(attachment_->bounds().durable,
                        load_journal_condition(attachment_->map()->words()));
    return begin();
  }
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
  if (!trail_.empty()) {  // it has read a discarded journal first
    enter_stream();
    return again();
  }
  if (options_.start.kind == Start::Kind::kSnapshot) return begin_snapshot(std::nullopt);
  absl::StatusOr<StartingPoint> start = choose_start(options_, *attachment_, backlog_.joined_at());
  if (!start.ok()) return end(start.status());
  return begin_at(*std::move(start));
}

Follower::Turn Follower::begin_at(StartingPoint start) {
  cursor_.next = start.next;
  trail_.start(attachment_->journal_id(), attachment_->sessions(), cursor_.next);
  if (absl::Status chosen = choose_instruments(trail_.current()); !chosen.ok()) return end(chosen);
  cursor_.ledger.session_seen();
  if (!is_introduced()) introduce(cursor_.next);
  if (options_.start.kind == Start::Kind::kLive && !attachment_->has_publisher()) {
    join_ = Join::kFloating;
  }
  if (!start.reset.empty()) {
    before_beginning_ = *options_.start.position;
    announce(EventKind::kReset, cursor_.next, std::move(start.reset));
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
  if (absl::Status chosen = choose_instruments(trail_.current()); !chosen.ok()) {
    end(std::move(chosen));
    return;
  }
  if (std::exchange(join_, Join::kIntroduced) == Join::kFloating)
    cursor_.next = std::max(cursor_.next, attachment_->session_first());
  pass_over_void();
}

// Begins at the oldest record, or after a discarded journal at the first one. In the latter case,
// records that are missing before the oldest one are a loss.
void Follower::start_over(std::string why) {
  before_beginning_ = position();
  const bool follows = trail_.is_finished() && journal() != nullptr;
  cursor_.next = follows ? attachment_->sessions().front().first : oldest_of(*attachment_);
  if (attachment_->is_discarded()) {
    backlog_.put_off();
  } else {
    backlog_.restart(attachment_->newest());
  }
  join_ = Join::kIntroduced;
  cursor_.ledger.restart();
  cursor_.ledger.session_seen();
  trail_.start(attachment_->journal_id(), attachment_->sessions(), cursor_.next);
  if (absl::Status chosen = choose_instruments(trail_.current()); !chosen.ok()) {
    end(std::move(chosen));
    return;
  }
  if (const std::string place = attachment_->take_why_no_place(); !place.empty()) {
    absl::StrAppend(&why, "; ", place);
  }
  announce(EventKind::kReset, cursor_.next, std::move(why));
}

// A power cut that took exactly what this subscriber has, and no more, leaves nothing to lose. It
// gets an event all the same, with a range of no records, because the journal does not hold what it
// holds.
void Follower::pass_over_void() {
  Sequence first = 0;
  Sequence last = 0;
  if (cursor_.ledger.held() == kNoSequence) return;
  if (!journal()->sessions().in_void(trail_.journal_id(), cursor_.next - 1, first, last)) return;
  if (last != cursor_.next - 1 || cursor_.ledger.held() < first) return;
  const Gap nothing_lost{cursor_.next, last, cursor_.next, GapCause::kVoid, false};
  announce(EventKind::kLost, cursor_.next, void_text(first, last), nothing_lost);
}

// Step 4: the ring with a quarter of its slots to spare, the journal otherwise.
void Follower::enter_stream() {
  const bool in_ring =
      cursor_.ring != nullptr && cursor_.next >= cursor_.ring->oldest() &&
      cursor_.ring->lag(cursor_.next) <= cursor_.ring->capacity() - cursor_.ring->capacity() / 4;
  cursor_.phase = journal() == nullptr || in_ring ? Phase::kLive : Phase::kCatchUp;
  catch_up_.start();
  cursor_.seen_head = 0;
  watch_.start(cursor_.ledger.taken(), monotonic_ns());
  set_attention();
}

// Loads the state that the stream begins with, or that follows `gap`.
Follower::Turn Follower::begin_snapshot(const std::optional<Gap>& gap) {
  absl::StatusOr<std::shared_ptr<const Fold>> fold =
      choose_fold(fold_ != nullptr ? fold_ : options_.start.own_fold, options_.start.fold,
                  attachment_->records());
  if (!fold.ok()) return end(fold.status());
  snapshot_.emplace(*std::move(fold), options_.directory, gap);
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
  SessionTrail trail;
  trail.start(attachment_->journal_id(), attachment_->sessions(), snapshot_->as_of() + 1);
  joined_session_ = trail.current();
  absl::Status chosen = choose_instruments(joined_session_);
  return chosen.ok() ? again() : end(std::move(chosen));
}

// The next entry; after the last one the stream, from S + 1.
Follower::Turn Follower::deliver_state() {
  if (!is_introduced()) return introduce(snapshot_->as_of() + 1);
  std::span<const std::byte> entry = snapshot_->next();
  for (std::uint64_t others = 0; filter_ && !entry.empty(); entry = snapshot_->next()) {
    if (filter_->matches_entry(fold_->shape(), entry)) break;
    if (++others == kUpkeepRecords) return again();
  }
  if (!entry.empty()) {
    cursor_.ledger.take_state();
    outbox_.add({.kind = DueKind::kState, .sequence = fold_->place_of(entry), .record = entry}, "");
    return again();
  }
  const Sequence as_of = snapshot_->as_of();
  std::string text = snapshot_->text();
  const std::optional<Gap> gap = snapshot_->gap();
  snapshot_.reset();
  if (gap) return go_on_after_state(as_of, *gap, std::move(text));
  backlog_.extend(as_of);  // newer than F where it was written during the join
  begin_at({as_of + 1, ""});
  cursor_.ledger.resume_after(as_of);
  return announce(EventKind::kSnapshotComplete, as_of, std::move(text));
}

// The state has what the gap's records did up to `as_of`; the journal or the ring gives the others.
Follower::Turn Follower::go_on_after_state(Sequence as_of, const Gap& gap, std::string text) {
  cursor_.ledger.covered_by_state(gap.first, as_of);
  cursor_.next = as_of + 1;
  enter_stream();
  if (cursor_.next < gap.resume) {
    catch_up_.keep_to_journal_below(gap.resume);
    cursor_.phase = Phase::kCatchUp;
  }
  return announce(EventKind::kSnapshotComplete, as_of, std::move(text), gap);
}

// Whoever asked for a state has to know of everything that is not in it: what goes missing before
// the first record is lost, other than to who asked for the oldest record (joining_from_oldest).
Follower::Turn Follower::without_snapshot() {
  std::string why = snapshot_->text();
  const std::optional<Gap> gap = snapshot_->gap();
  snapshot_.reset();
  if (gap) return fill_instead(*gap, std::move(why));
  const StartingPoint oldest{oldest_of(*attachment_), ""};
  absl::StrAppend(&why, "; begins with sequence ", oldest.next, ", the oldest that is kept");
  begin_at(oldest);
  return announce(EventKind::kNoSnapshot, oldest.next, std::move(why));
}

// As OnGap::kFill does.
Follower::Turn Follower::fill_instead(const Gap& gap, std::string why) {
  catch_up_.keep_to_journal_below(gap.resume);
  cursor_.phase = Phase::kCatchUp;
  absl::StrAppend(&why, "; goes on with sequence ", cursor_.next, ", from the journal");
  return announce(EventKind::kNoSnapshot, cursor_.next, std::move(why), gap);
}

}  // namespace lapwing
