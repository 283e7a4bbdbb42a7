// How the checkpointer follows the bus: what it reads, what of that it folds, what events mean.
#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/kernel.h"
#include "snapshot/bus_directory.h"
#include "subscribers/checkpointer/checkpointer_core.h"
#include "subscribers/subscriber_access.h"

namespace lapwing {

// Starts at the store's position, or at the oldest record of the newest journal, because a state
// belongs to one journal. Forgets what was read and not folded.
void CheckpointerCore::reopen_subscriber() {
  SubscriberOptions options = options_.subscriber;
  options.start = Start::oldest();
  options.on_gap = OnGap::kFill;
  options.end_at_close = false;
  folded_ = {};
  next_ = 1;
  if (committed()) {
    folded_ = committed()->at;
    options.start = Start::after(folded_);
    next_ = folded_.sequence + 1;
  } else if (const auto bus = read_bus_description(options.directory);
             bus.ok() && !bus->journal_root.empty()) {
    options.start.journal = bus->journal_id;
  }
  pending_.clear();
  discarding_ = false;
  durable_moved_ns_ = monotonic_ns();
  durable_seen_ = 0;
  subscriber_ = SubscriberAccess::open(std::move(options), interrupt_);
}

// Until then, or until an interrupt, which stays for the next turn of the run.
void CheckpointerCore::rest(std::uint64_t until_ns) const {
  const std::uint32_t bell = interrupt_.bell();
  const std::uint64_t now = monotonic_ns();
  if (!interrupt_.is_raised() && now < until_ns) interrupt_.wait(bell, until_ns - now);
}

absl::Status CheckpointerCore::read(std::uint64_t deadline_ns) {
  watch_durable();
  if (discarding_ && subscriber_->durable() >= pending_.last()) return catch_up_with_discarded();
  const std::uint64_t now = monotonic_ns();
  if (pending_.is_full() && !discarding_) {
    rest(now + kDurablePauseNs);
    return absl::OkStatus();
  }
  std::vector<std::byte> unwanted(discarding_ ? kFoldRecords * fold_->shape().record_bytes : 0);
  const std::span<std::byte> room = discarding_ ? std::span(unwanted) : pending_.room();
  const bool waits_for_durable = !pending_.is_empty() && !discarding_;
  const std::uint64_t pause_ns =
      waits_for_durable ? kDurablePauseNs : ns_of(options_.commit_interval);
  const Result<Batch> batch =
      subscriber_->read(room, Deadline::at_monotonic_ns(std::min(deadline_ns, now + pause_ns)));
  switch (batch.error()) {
    case Errc::kOk:
      return batch->event ? take_event(*batch->event) : take_records(*batch);
    case Errc::kWouldBlock:
    case Errc::kTimedOut:
      return absl::OkStatus();
    case Errc::kInterrupted:
      return interrupted();
    case Errc::kTooSmall:
      return check_records();
    default:  // the end
      fold_ready(false);
      return subscriber_->status();
  }
}

// They stand where pending_ has room, and belong to it only if they are what the fold is of. They
// are of one session, and so is all that is pending: an event stands between two sessions.
absl::Status CheckpointerCore::take_records(const Batch& batch) {
  if (absl::Status fits = check_records(); !fits.ok() || discarding_) return fits;
  pending_.added(batch.count, batch.first);
  pending_of_ = {subscriber_->position().journal_id, subscriber_->session_id(), kNoSequence};
  return absl::OkStatus();
}

absl::Status CheckpointerCore::check_records() const {
  const FoldShape& shape = fold_->shape();
  if (subscriber_->schema_name() == shape.schema &&
      subscriber_->record_bytes() == shape.record_bytes) {
    return absl::OkStatus();
  }
  return make_error(
      Errc::kRecordSize,
      absl::StrCat("the bus carries records of schema ", subscriber_->schema_name(), ", ",
                   subscriber_->record_bytes(), " bytes, but the fold ", shape.name, " is of ",
                   shape.schema, ", ", shape.record_bytes, " bytes; choose a fold of that schema"));
}

// Notices that durable does not move although the buffer is full of what waits for it.
void CheckpointerCore::watch_durable() {
  const Sequence durable = subscriber_->durable();
  const std::uint64_t now = monotonic_ns();
  if (durable != durable_seen_ || !pending_.is_full()) durable_moved_ns_ = now;
  durable_seen_ = durable;
  if (discarding_ || now - durable_moved_ns_ < options_.durable_stall_ns) return;
  discarding_ = true;
  options_.log(
      log_entry(LogEvent::kNotDurable,
                absl::StrCat("nothing after record ", durable,
                             " is durable: its publisher may be gone, or its journal has failed; "
                             "what comes is read again once it is"),
                {{"durable", durable}}));
}

// What was not kept is to be had again: from the last commit on, as after a restart.
absl::Status CheckpointerCore::catch_up_with_discarded() {
  fold_ready(false);
  if (may_commit() && settled_) {
    if (absl::Status done = commit(); !done.ok()) return done;
  }
  store_->drop_changes();
  if (!store_trouble_.lasts()) reopen_subscriber();
  return absl::OkStatus();
}

// Folds what is durable, up to the last record that settles. With `all`, or where the buffer is
// full of one event, also what does not settle.
void CheckpointerCore::fold_ready(bool all) {
  const std::size_t durable = pending_.count_through(subscriber_->durable());
  std::size_t settled = durable;
  while (settled > 0 && !fold_->settles(pending_.record(settled - 1))) --settled;
  const bool also_the_rest = all || (settled == 0 && pending_.is_full());
  fold(settled, true);
  if (also_the_rest) fold(durable - settled, false);
}

// `settles`: the state may be shown after the last of them.
void CheckpointerCore::fold(std::size_t records, bool settles) {
  if (records == 0) return;
  // The beginning of what is kept, where nothing was lost on the way.
  lose_through(pending_.first() - 1, GapCause::kPruned);
  const std::size_t key_bytes = fold_->shape().key_bytes;
  keys_.resize(kFoldRecords * key_bytes);
  for (std::size_t left = records; left > 0;) {
    const std::size_t count = std::min(left, kFoldRecords);
    std::size_t keys = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::span<std::byte> key(keys_.data() + keys * key_bytes, key_bytes);
      if (fold_->reads(pending_.record(i), key)) ++keys;
    }
    store_->prefetch(std::span(keys_).first(keys * key_bytes));
    for (std::size_t i = 0; i < count; ++i) {
      fold_->apply(next_++, pending_.record(i), *store_);
    }
    pending_.drop(count);
    left -= count;
  }
  folded_ = {pending_of_.journal_id, pending_of_.session_id, folded_through()};
  settled_ = settles;
  counters_.records += records;
  records_since_ += records;
}

// Nothing can give what there was from next_ to `last`.
void CheckpointerCore::lose_through(Sequence last, GapCause cause) {
  if (last < next_) return;
  const Gap gap{next_, last, last + 1, cause, false};
  fold_->lose(gap, *store_);
  counters_.lost += gap.count();
  next_ = last + 1;
}

absl::Status CheckpointerCore::take_event(const Event& event) {
  if (options_.on_event) options_.on_event(event);
  switch (event.kind) {
    case EventKind::kSession:
      if (event.is_first_session) {
        if (event.sequence <= 1 && event.follows_journal) fold_->lose(kMissingBeginning, *store_);
        break;
      }
      if (discarding_) return catch_up_with_discarded();
      fold_ready(true);  // the next session begins behind what is durable of the last
      discarding_ = !pending_.is_empty();
      break;
    case EventKind::kLost:
      return take_loss(event.gap);
    case EventKind::kReset:
      return take_reset(event.follows_journal);
    case EventKind::kClosed:
      if (discarding_ && subscriber_->durable() >= pending_.last()) {
        return catch_up_with_discarded();
      }
      fold_ready(false);
      closed_ = true;
      break;
    default:
      break;
  }
  return absl::OkStatus();
}

absl::Status CheckpointerCore::take_loss(const Gap& gap) {
  if (discarding_) return catch_up_with_discarded();
  fold_ready(true);
  // What a cut took waits here and was never durable: the void has it. (Its gap may begin behind
  // it, or be empty.)
  if (gap.cause == GapCause::kVoid) pending_.clear();
  if (pending_.is_empty()) {
    lose_through(gap.last, gap.cause);
  } else {
    discarding_ = true;  // a loss among what is not durable: it is met again once that is settled
  }
  return absl::OkStatus();
}

// Another history: nothing of what is kept is of it.
absl::Status CheckpointerCore::take_reset(bool follows_journal) {
  if (job_) {
    job_->give_up();
    end_job();
  }
  pending_.clear();
  discarding_ = false;
  folded_ = {};
  next_ = 1;
  ++counters_.resets;
  remove_checkpoints();
  const absl::Status emptied = store_->empty();
  store_trouble_.note(emptied);
  if (emptied.ok() && follows_journal) fold_->lose(kMissingBeginning, *store_);
  return may_pass(emptied) ? absl::OkStatus() : emptied;
}

}  // namespace lapwing
