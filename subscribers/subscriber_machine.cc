#include "subscribers/subscriber_machine.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"

namespace lapwing {
namespace {

// Whether a subscriber that begins with the oldest record must be told about a gap before it.
// Retention and voids only determine which record is the oldest.
bool is_loss(GapCause cause) {
  return cause == GapCause::kDamaged || cause == GapCause::kNotRelayed ||
         cause == GapCause::kUpstream;
}

}  // namespace

Step SubscriberMachine::step(std::span<std::byte> out, std::uint64_t now_ns) {
  now_ns_ = now_ns;
  if (cursor_.next >= cursor_.due && cursor_.reads() && pass_boundary()) return {};
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
    default:
      stream_.post({.kind = DueKind::kEnd});
      return {};
  }
}

// Posts the event that comes before the next record. If there is none, does the upkeep. Returns
// true if an event was posted.
bool SubscriberMachine::pass_boundary() {
  SessionTrail& trail = stream_.trail;
  if (trail.step(cursor_.next)) {
    if (absl::Status chosen = stream_.choose_instruments(stream_.records, trail.current());
        !chosen.ok()) {
      end(std::move(chosen));
      return false;
    }
    cursor_.ledger.session_seen();
    const bool is_newest = trail.current() == stream_.session_id;
    stream_.post(EventKind::kSession, cursor_.next,
                 is_newest ? stream_.attachment->take_why_no_place() : "");
  } else if (stream_.backlog.step(cursor_.next)) {
    stream_.post(EventKind::kCaughtUp, stream_.backlog.last(), stream_.backlog.not_durable());
  } else if (!upkeep_.run(now_ns_)) {
    stream_.renew_due();
  }
  return !stream_.outbox.empty();
}

bool SubscriberMachine::may_read() const {
  if (cursor_.phase == Phase::kLive) return cursor_.ring->has(cursor_.next);
  return cursor_.phase == Phase::kCatchUp && !catch_up_.waits();
}

std::optional<Pause> SubscriberMachine::pause_from(std::uint64_t now_ns) const {
  switch (cursor_.phase) {
    case Phase::kSeeking:
      return Pause{search_.next_step_ns(), search_.fd()};
    case Phase::kFlushing:
      return Pause{stream_.backlog.flush_ends_ns(), stream_.attachment->control()->fd()};
    case Phase::kCatchUp:
      return Pause{now_ns + kCatchUpPauseNs};
    default:  // kSnapshot has more to load
      return std::nullopt;
  }
}

// Phases before records can be read, for the join and each session: seeking to snapshot.

// If there are several journals, attaches the first one that has not been read yet. A start in the
// future waits for the newest one.
Step SubscriberMachine::on_seeking() {
  absl::StatusOr<std::optional<Attachment>> found = search_.step(now_ns_);
  if (!found.ok()) return end(found.status());
  if (*found && join_ != Join::kFloating) {
    const absl::StatusOr<std::optional<ListedJournal>> older =
        choose_discarded(options_, stream_.trail, **found);
    if (!older.ok()) return end(older.status());
    if (*older) {
      absl::StatusOr<Attachment> discarded = Attachment::to_discarded(**found, **older);
      return discarded.ok() ? on_attached(*std::move(discarded)) : end(discarded.status());
    }
  }
  if (*found) return on_attached(*std::move(*found));
  if (search_.unanswered()) {
    const std::optional<Sequence> gone = search_.take_unreported();
    if (gone) return post(EventKind::kPublisherGone, *gone, search_.left());
  }
  absl::Status given_up = search_.given_up(now_ns_);
  return given_up.ok() ? Step{Step::Kind::kIdle} : end(std::move(given_up));
}

absl::Status SubscriberMachine::check_fits(const Attachment& found) {
  const RecordIdentity& records = found.records();
  absl::Status fits = check_policy(options_, found);
  if (fits.ok() && options_.expect) fits = check_expected(*options_.expect, records);
  if (fits.ok() && join_ == Join::kNotYet) fits = check_start(options_, found);
  if (fits.ok() && options_.on_gap == OnGap::kSnapshot && fold_ == nullptr) {
    fits = choose_fold(options_.start.own_fold, options_.start.fold, records).status();
  }
  // The program folds the following records into its existing state.
  if (fits.ok() && fold_ != nullptr) fits = check_fold(fold_->shape(), records);
  // A named fold uses the description from which it was created.
  const bool uses_description = fold_ != nullptr && options_.start.own_fold == nullptr;
  if (fits.ok() && uses_description && stream_.records.description) {
    fits = check_expected(*stream_.records.description, records);
  }
  if (!fits.ok()) return fits;
  // At the join, records from any session in the journal may follow.
  const SessionTrail& trail = stream_.trail;
  const bool continues = !trail.empty() && trail.journal_id() == found.journal_id();
  return stream_.choose_instruments(records,
                                    continues ? trail.current() : found.sessions().front().id);
}

Step SubscriberMachine::on_attached(Attachment found) {
  if (absl::Status fits = check_fits(found); !fits.ok()) return end(std::move(fits));
  const bool same_session =
      join_ != Join::kNotYet && !found.is_discarded() && found.session_id() == stream_.session_id;
  stream_.attach(std::move(found));
  upkeep_.attach(now_ns_);
  if (join_ == Join::kNotYet) return join();
  const bool comes_from_discarded = stream_.trail.is_finished();
  if (!comes_from_discarded) cursor_.ledger.reattached();
  const std::optional<Sequence> gone = search_.take_unreported();
  if (same_session) {
    join_ = Join::kIntroduced;  // the publisher was only slow: live begins here
    return enter_stream();
  }
  if (gone) post(EventKind::kPublisherGone, *gone, search_.left());
  if (absl::Status rejoined = rejoin(); !rejoined.ok()) return end(std::move(rejoined));
  const bool is_newest = !stream_.attachment->is_discarded();
  return comes_from_discarded && is_newest && !stream_.backlog.caught_up() ? join()
                                                                           : enter_stream();
}

// Steps 1 and 2 of docs/explanation/joining.md. Without a publisher there is nothing to flush: F is
// the end of the existing files.
Step SubscriberMachine::join() {
  if (join_ == Join::kNotYet) join_ = Join::kAttached;
  Attachment& attachment = *stream_.attachment;
  Backlog& backlog = stream_.backlog;
  backlog.begin(attachment.newest());
  if (attachment.is_discarded()) backlog.put_off();
  if (!attachment.has_publisher() || attachment.journal() == nullptr) return begin();
  if (attachment.control() == nullptr) {
    backlog.cannot_ask(attachment.bounds().durable,
                       load_journal_condition(attachment.map()->words()));
    return begin();
  }
  if (absl::Status asked = backlog.ask(*attachment.control(), now_ns_); !asked.ok()) {
    return end(std::move(asked));
  }
  cursor_.phase = Phase::kFlushing;
  return {};
}

Step SubscriberMachine::on_flushing() {
  const absl::StatusOr<bool> flushed =
      stream_.backlog.flushed(*stream_.attachment->control(), now_ns_);
  if (flushed.ok()) return *flushed ? begin() : Step{Step::Kind::kIdle};
  if (errc_of(flushed.status()) != Errc::kPublisherGone) return end(flushed.status());
  stream_.watch.hung_up();
  return begin();
}

// Steps 3 and 4: chooses S according to the start, and begins the stream at S + 1.
Step SubscriberMachine::begin() {
  if (!stream_.trail.empty()) return enter_stream();  // a discarded journal was read first
  if (options_.start.kind == Start::Kind::kSnapshot) return begin_snapshot(std::nullopt);
  absl::StatusOr<StartingPoint> start =
      choose_start(options_, *stream_.attachment, stream_.backlog.joined_at());
  return start.ok() ? begin_at(*std::move(start)) : end(start.status());
}

Step SubscriberMachine::begin_at(StartingPoint start) {
  if (absl::Status begun = stream_.begin_history(start.next); !begun.ok()) return end(begun);
  cursor_.ledger.session_seen();
  if (!is_introduced()) introduce(cursor_.next);
  if (options_.start.kind == Start::Kind::kLive && !stream_.attachment->has_publisher()) {
    join_ = Join::kFloating;
  }
  if (!start.reset.empty()) {
    stream_.before_beginning = *options_.start.position;
    post(EventKind::kReset, cursor_.next, std::move(start.reset));
  } else if (options_.start.position) {
    cursor_.ledger.resume_after(options_.start.position->sequence);
  }
  return enter_stream();
}

// Posts the first session, whose first record is `first`.
Step SubscriberMachine::introduce(Sequence first) {
  join_ = Join::kIntroduced;
  return post(EventKind::kSession, first, stream_.attachment->take_why_no_place());
}

// Handles another session that was found: the position is kept if it is in the same journal, but
// not if it is in another history.
absl::Status SubscriberMachine::rejoin() {
  const Attachment& attachment = *stream_.attachment;
  std::string why = why_start_over(stream_.trail, cursor_.ledger.held(), attachment);
  const bool was_floating = std::exchange(join_, Join::kIntroduced) == Join::kFloating;
  if (!why.empty()) return start_over(std::move(why));
  stream_.trail.extend(attachment.sessions());
  absl::Status chosen = stream_.choose_instruments(stream_.records, stream_.trail.current());
  if (!chosen.ok()) return chosen;
  if (was_floating) cursor_.next = std::max(cursor_.next, attachment.session_first());
  stream_.pass_void();
  return absl::OkStatus();
}

// Begins at the oldest record, or at the first one after a discarded journal. In the latter case,
// records missing before the oldest one are a loss.
absl::Status SubscriberMachine::start_over(std::string why) {
  Attachment& attachment = *stream_.attachment;
  stream_.before_beginning = stream_.position();
  const bool follows = stream_.trail.is_finished() && attachment.journal() != nullptr;
  if (attachment.is_discarded()) {
    stream_.backlog.put_off();
  } else {
    stream_.backlog.restart(attachment.newest());
  }
  cursor_.ledger.restart();
  cursor_.ledger.session_seen();
  absl::Status begun =
      stream_.begin_history(follows ? attachment.sessions().front().first : oldest_of(attachment));
  if (!begun.ok()) return begun;
  if (const std::string place = attachment.take_why_no_place(); !place.empty()) {
    absl::StrAppend(&why, "; ", place);
  }
  post(EventKind::kReset, cursor_.next, std::move(why));
  return absl::OkStatus();
}

// Step 4: reads the ring if it has a quarter of its slots to spare, or else the journal.
Step SubscriberMachine::enter_stream() {
  const RingReader* const ring = cursor_.ring;
  const bool in_ring = ring != nullptr && cursor_.next >= ring->oldest() &&
                       ring->lag(cursor_.next) <= ring->capacity() - ring->capacity() / 4;
  cursor_.phase = stream_.journal() == nullptr || in_ring ? Phase::kLive : Phase::kCatchUp;
  cursor_.seen_head = 0;
  catch_up_.start();
  stream_.watch.start(cursor_.ledger.taken(), now_ns_);
  stream_.renew_due();
  return {};
}

// Loads the state that the stream begins with, or that follows `gap`.
Step SubscriberMachine::begin_snapshot(const std::optional<Gap>& gap) {
  absl::StatusOr<std::shared_ptr<const Fold>> fold =
      choose_fold(fold_ != nullptr ? fold_ : options_.start.own_fold, options_.start.fold,
                  stream_.attachment->records());
  if (!fold.ok()) return end(fold.status());
  snapshot_.emplace(*std::move(fold), options_.directory, gap);
  cursor_.phase = Phase::kSnapshot;
  return {};
}

Step SubscriberMachine::on_snapshot() {
  if (snapshot_->progress() == SnapshotJoin::Progress::kLoaded) return post_entry();
  const Attachment& attachment = *stream_.attachment;
  snapshot_->step(attachment);
  if (snapshot_->progress() == SnapshotJoin::Progress::kLoading) {
    upkeep_.report(now_ns_);
    return {Step::Kind::kIdle};
  }
  fold_ = snapshot_->fold();
  if (snapshot_->progress() == SnapshotJoin::Progress::kNone) return continue_without_state();
  state_size_ = snapshot_->size();
  SessionTrail trail;
  trail.start(attachment.journal_id(), attachment.sessions(), snapshot_->as_of() + 1);
  stream_.first_session = trail.current();
  absl::Status chosen = stream_.choose_instruments(stream_.records, stream_.first_session);
  return chosen.ok() ? Step{} : end(std::move(chosen));
}

// Posts the next entry; after the last one, the stream begins with S + 1. After a gap, the state
// replaces the gap's records up to S, and the remaining ones are read from the journal or the ring.
Step SubscriberMachine::post_entry() {
  const Sequence as_of = snapshot_->as_of();
  if (!is_introduced()) return introduce(as_of + 1);
  std::span<const std::byte> entry = snapshot_->next();
  for (std::uint64_t others = 0; stream_.filter && !entry.empty(); entry = snapshot_->next()) {
    if (stream_.filter->matches_entry(fold_->shape(), entry)) break;
    if (++others == kUpkeepRecords) return {};
  }
  if (!entry.empty()) {
    cursor_.ledger.take_state();
    stream_.post({.kind = DueKind::kState, .sequence = fold_->place_of(entry), .record = entry});
    return {};
  }
  std::string text = snapshot_->text();
  const std::optional<Gap> gap = snapshot_->gap();
  snapshot_.reset();
  if (gap) {
    cursor_.ledger.covered_by_state(gap->first, as_of);
    cursor_.next = as_of + 1;
    enter_stream();
    if (cursor_.next < gap->resume) catch_up_below(gap->resume);
  } else {
    stream_.backlog.extend(as_of);  // newer than F if it was written during the join
    begin_at({as_of + 1, ""});
    cursor_.ledger.resume_after(as_of);
  }
  return post(EventKind::kSnapshotComplete, as_of, std::move(text), gap.value_or(Gap{}));
}

// The program requested a state, so records missing before the first one are lost. A gap is filled
// from the journal, as with OnGap::kFill.
Step SubscriberMachine::continue_without_state() {
  std::string why = snapshot_->text();
  const std::optional<Gap> gap = snapshot_->gap();
  snapshot_.reset();
  if (gap) {
    catch_up_below(gap->resume);
    absl::StrAppend(&why, "; continues with sequence ", cursor_.next, ", from the journal");
    return post(EventKind::kNoSnapshot, cursor_.next, std::move(why), *gap);
  }
  const Sequence oldest = oldest_of(*stream_.attachment);
  absl::StrAppend(&why, "; begins with sequence ", oldest, ", the oldest that is kept");
  begin_at({oldest, ""});
  return post(EventKind::kNoSnapshot, oldest, std::move(why));
}

// Phases while records are read, and at the end of a session: kCatchUp, kLive.

Step SubscriberMachine::on_catch_up(std::span<std::byte> out) {
  const std::uint64_t room = cursor_.room_in(out, cursor_.due);
  if (room == 0) return {Step::Kind::kRecords, 0};
  const Attachment& attachment = *stream_.attachment;
  absl::StatusOr<CatchUp::Read> read =
      catch_up_.read(attachment, cursor_.next, out.first(room * cursor_.record_bytes),
                     stream_.watch.ended(), cursor_.seen_head);
  if (!read.ok()) return end(read.status());
  switch (read->outcome) {
    case CatchUp::Outcome::kRecords:
      return {Step::Kind::kRecords, read->records};
    case CatchUp::Outcome::kNothing:
      return {Step::Kind::kIdle};
    case CatchUp::Outcome::kInRing:
      cursor_.phase = Phase::kLive;
      stream_.renew_due();
      return {};
    case CatchUp::Outcome::kHole:
      return on_hole(*std::move(read));
    case CatchUp::Outcome::kAtEnd:
      break;
  }
  return attachment.is_discarded() ? end_journal() : end_session();
}

Step SubscriberMachine::on_live(std::span<std::byte> out) {
  const RingRun run = cursor_.read_run(out, cursor_.due);
  if (run.records > 0 || run.end.outcome == RingRead::kRecord) {
    return {Step::Kind::kRecords, run.records};
  }
  if (run.end.outcome != RingRead::kEmpty) return on_lap(run.end);
  return stream_.watch.ended() ? end_session() : Step{Step::Kind::kIdle};
}

// Handles a ring that no longer has the next record. A slot with any other contents is corrupt,
// which counts as a lap of one record.
Step SubscriberMachine::on_lap(const RingReadResult& read) {
  const bool corrupt = read.outcome == RingRead::kCorrupt;
  const Sequence resume = corrupt ? cursor_.next + 1 : read.resume;
  const GapCause cause = corrupt ? GapCause::kDamaged : GapCause::kLapped;
  if (!stream_.backlog.caught_up() && stream_.journal() != nullptr) return catch_up_below(resume);
  if (!corrupt && stream_.begins_with_oldest()) {
    cursor_.next = resume;
    return {};
  }
  const Gap gap{cursor_.next, resume - 1, resume, cause,
                stream_.may_be_filled(cursor_.next, resume - 1, cause)};
  std::string text;
  if (corrupt) {
    text = absl::StrCat("the ring's slot of sequence ", cursor_.next, " holds stamp ", read.stamp,
                        ", which no correct publisher can have written");
  }
  switch (options_.on_gap) {
    case OnGap::kFill:
      cursor_.ledger.gap_to_fill(gap);
      catch_up_below(resume);
      break;
    case OnGap::kSkip:
      cursor_.ledger.gap_skipped(gap);
      cursor_.next = resume;
      break;
    case OnGap::kStop:
      cursor_.ledger.gap_stopped_at();
      text = absl::StrCat("stopped at a gap, ", name_of(gap.cause), ", of sequences ", gap.first,
                          " to ", gap.last, ", as requested. Continue from ", gap.first,
                          " with the policy fill or skip");
      upkeep_.report_stop();
      end(make_error(Errc::kStoppedAtGap, text));
      break;
    case OnGap::kSnapshot:
      cursor_.ledger.gap_to_fill(gap);
      begin_snapshot(gap);
      break;
  }
  return post(EventKind::kGap, gap.first, std::move(text), gap);
}

// Reads the journal until the ring holds record `ring_floor` or a later one.
Step SubscriberMachine::catch_up_below(Sequence ring_floor) {
  catch_up_.keep_to_journal_below(ring_floor);
  cursor_.phase = Phase::kCatchUp;
  return {};
}

// Handles records up to hole.last that are in neither the journal nor the ring.
Step SubscriberMachine::on_hole(CatchUp::Read hole) {
  const Gap gap{cursor_.next, hole.last, hole.last + 1, hole.cause, false};
  if (hole.cause == GapCause::kVoid) hole.detail = stream_.void_text(gap.first, gap.last);
  cursor_.next = gap.last + 1;
  if (!is_loss(hole.cause) && stream_.begins_with_oldest()) return {};
  cursor_.ledger.lost(gap);
  return post(EventKind::kLost, gap.first, std::move(hole.detail), gap);
}

// Ends a session that was read to its end: the ring was empty once more after the watch had ended.
Step SubscriberMachine::end_session() {
  Attachment& attachment = *stream_.attachment;
  const Ending how = stream_.watch.ending();
  const Id128 session = stream_.session_id;
  attachment.hang_up();
  const bool closed = attachment.closed();
  // A start in the future may not have been reached.
  const Sequence last = cursor_.ledger.taken() > 0
                            ? cursor_.next - 1
                            : std::min(cursor_.next - 1, attachment.newest());
  std::string text = absl::StrCat(
      "session ", session.hex(), " of bus ", options_.directory,
      closed ? " was closed after sequence " : " ended without a close after sequence ", last);
  if (how == Ending::kSilent) {
    absl::StrAppend(&text, ": its publisher has not moved for ", seconds_of(kHeartbeatLostNs),
                    " s");
  }
  // A publisher that was only silent may resume and die later. Its files are then read again.
  LeftSession left{how == Ending::kSilent ? Id128{} : session, closed, text, cursor_.next};
  // A socket is also closed if this client was dropped, so first check whether the
  // same session answers. This step does not check, because the records in one batch
  // have one session and one size.
  if (how == Ending::kHungUp && !closed) left.unreported = last;
  leave(std::move(left));
  if (closed) {
    if (options_.end_at_close) cursor_.phase = Phase::kEnded;
    return post(EventKind::kClosed, last, std::move(text));
  }
  if (how == Ending::kHungUp) return {Step::Kind::kIdle};
  // A publisher that was silent first and is now dead has already been reported.
  const std::pair gone(session, last);
  if (std::exchange(gone_, gone) == gone) return {Step::Kind::kIdle};
  return post(EventKind::kPublisherGone, last, std::move(text));
}

// Ends a discarded journal that was read to its end. The next one is attached in another call,
// because the records in one batch have one session and one size.
Step SubscriberMachine::end_journal() {
  const std::string journal = stream_.attachment->journal_id().hex();
  const absl::StatusOr<Sequence> published = stream_.journal()->published();
  if (!published.ok()) return end(published.status());
  if (*published >= cursor_.next) {
    CatchUp::Read rest{
        .outcome = CatchUp::Outcome::kHole, .last = *published, .cause = GapCause::kSession};
    rest.detail =
        absl::StrCat("sequences ", cursor_.next, " to ", *published,
                     " were published after journal ", journal, " had failed, and are in no file");
    return on_hole(std::move(rest));
  }
  stream_.trail.finish();
  leave({Id128{}, /*closed=*/false,
         absl::StrCat("journal ", journal, " of bus ", options_.directory, " was read to its end"),
         cursor_.next});
  return {Step::Kind::kIdle};
}

void SubscriberMachine::leave(LeftSession left) {
  upkeep_.detach();
  stream_.detach();
  search_.start(std::move(left));
}

// kTimedOut is returned by calls that found nothing, so an end needs another code.
Step SubscriberMachine::end(absl::Status status) {
  const bool is_unanswered = errc_of(status) == Errc::kTimedOut;
  stream_.status = is_unanswered ? make_error(Errc::kNoAnswer, std::string(status.message()))
                                 : std::move(status);
  search_.stop();
  upkeep_.detach();
  stream_.detach();
  cursor_.phase = Phase::kEnded;
  return {};
}

}  // namespace lapwing
