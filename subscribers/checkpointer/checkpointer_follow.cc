// How the checkpointer follows the bus: what it reads, which records it folds, and how it handles
// events.
#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/kernel.h"
#include "snapshot/bus_directory.h"
#include "subscribers/checkpointer/checkpointer_state.h"
#include "subscribers/subscriber_access.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kDurablePauseNs = 1'000'000;  // for the bus to sync
constexpr std::size_t kFoldRecords = 1024;            // records whose keys are read at once

}  // namespace

// Starts at the store's position, or if there is none, at the oldest record of the newest journal,
// because a state belongs to one journal. Discards records that were read but not folded.
void Checkpointer::State::reopen_subscriber() {
  SubscriberOptions following = options.subscriber;
  following.start = Start::oldest();
  following.on_gap = OnGap::kFill;
  following.end_at_close = false;
  folded = {};
  next = 1;
  if (committed()) {
    folded = committed()->at;
    following.start = Start::after(folded);
    next = folded.sequence + 1;
  } else if (const auto bus = read_bus_description(following.directory);
             bus.ok() && !bus->journal_root.empty()) {
    following.start.journal = bus->journal_id;
  }
  pending.clear();
  discarding = false;
  durable_moved_ns = monotonic_ns();
  durable_seen = 0;
  subscriber = SubscriberAccess::open(std::move(following), interrupt);
}

// Waits until `until_ns` or an interrupt, which stays raised for the run's next iteration.
void Checkpointer::State::rest(std::uint64_t until_ns) const {
  const std::uint32_t bell = interrupt.bell();
  const std::uint64_t now = monotonic_ns();
  if (!interrupt.is_raised() && now < until_ns) interrupt.wait(bell, until_ns - now);
}

absl::Status Checkpointer::State::read(std::uint64_t deadline_ns) {
  watch_durable();
  if (discarding && subscriber->durable() >= pending.last()) return catch_up_with_discarded();
  const std::uint64_t now = monotonic_ns();
  if (pending.is_full() && !discarding) {
    rest(now + kDurablePauseNs);
    return absl::OkStatus();
  }
  std::vector<std::byte> unwanted(discarding ? kFoldRecords * fold().shape().record_bytes : 0);
  const std::span<std::byte> room = discarding ? std::span(unwanted) : pending.room();
  const bool waits_for_durable = !pending.is_empty() && !discarding;
  const std::uint64_t pause_ns =
      waits_for_durable ? kDurablePauseNs : ns_of(options.commit_interval);
  const Result<Batch> batch =
      subscriber->read(room, Deadline::at_monotonic_ns(std::min(deadline_ns, now + pause_ns)));
  switch (batch.error()) {
    case Errc::kOk:
      return batch->event ? take_event(*batch->event) : take_records(*batch);
    case Errc::kWouldBlock:
    case Errc::kTimedOut:
      return absl::OkStatus();
    case Errc::kInterrupted:
      return interrupted_run();
    case Errc::kTooSmall:
      return check_records();
    default:  // the subscriber has ended
      fold_ready(false);
      return subscriber->status();
  }
}

// The records are already in the free memory of `pending`. They are added only if the fold is for
// such records. All pending records belong to one session, because an event separates two sessions.
absl::Status Checkpointer::State::take_records(const Batch& batch) {
  if (absl::Status fits = check_records(); !fits.ok() || discarding) return fits;
  pending.added(batch.count, batch.first);
  pending_of = {subscriber->position().journal_id, subscriber->session_id(), kNoSequence};
  return absl::OkStatus();
}

absl::Status Checkpointer::State::check_records() const {
  const FoldShape& shape = fold().shape();
  if (subscriber->schema_name() == shape.schema &&
      subscriber->record_bytes() == shape.record_bytes) {
    return absl::OkStatus();
  }
  return make_error(
      Errc::kRecordSize,
      absl::StrCat("the bus carries records of schema ", subscriber->schema_name(), ", ",
                   subscriber->record_bytes(), " bytes, but the fold ", shape.name, " is of ",
                   shape.schema, ", ", shape.record_bytes, " bytes; choose a fold of that schema"));
}

// Detects that durable is not advancing although the buffer is full of records waiting for it.
void Checkpointer::State::watch_durable() {
  const Sequence durable = subscriber->durable();
  const std::uint64_t now = monotonic_ns();
  if (durable != durable_seen || !pending.is_full()) durable_moved_ns = now;
  durable_seen = durable;
  if (discarding || now - durable_moved_ns < options.durable_stall_ns) return;
  discarding = true;
  options.log(
      log_entry(LogEvent::kNotDurable,
                absl::StrCat("nothing after record ", durable,
                             " is durable: the publisher may have ended, or its journal may have "
                             "failed. Later records are read again once they are durable"),
                {{"durable", durable}}));
}

// Reads records that were not kept again, from the last commit on, as after a restart.
absl::Status Checkpointer::State::catch_up_with_discarded() {
  fold_ready(false);
  if (may_commit() && settled) {
    if (absl::Status done = commit(); !done.ok()) return done;
  }
  store->drop_changes();
  if (!store_trouble.lasts()) reopen_subscriber();
  return absl::OkStatus();
}

// Folds durable records up to the last one that settles. If `all` is set, or if one event fills the
// buffer, also folds the durable records after it.
void Checkpointer::State::fold_ready(bool all) {
  const std::size_t durable = pending.count_through(subscriber->durable());
  std::size_t settles_at = durable;
  while (settles_at > 0 && !fold().settles(pending.record(settles_at - 1))) --settles_at;
  const bool also_the_rest = all || (settles_at == 0 && pending.is_full());
  fold_records(settles_at, true);
  if (also_the_rest) fold_records(durable - settles_at, false);
}

// `settles`: the state may be exposed after the last of them.
void Checkpointer::State::fold_records(std::size_t records, bool settles) {
  if (records == 0) return;
  // Records before the oldest retained one are lost. Does nothing if none are missing.
  lose_through(pending.first() - 1, GapCause::kPruned);
  const std::size_t key_bytes = fold().shape().key_bytes;
  key_room.resize(kFoldRecords * key_bytes);
  for (std::size_t left = records; left > 0;) {
    const std::size_t count = std::min(left, kFoldRecords);
    std::size_t keys = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::span<std::byte> key(key_room.data() + keys * key_bytes, key_bytes);
      if (fold().reads(pending.record(i), key)) ++keys;
    }
    store->prefetch(std::span(key_room).first(keys * key_bytes));
    for (std::size_t i = 0; i < count; ++i) {
      fold().apply(next++, pending.record(i), *store);
    }
    pending.drop(count);
    left -= count;
  }
  folded = {pending_of.journal_id, pending_of.session_id, folded_through()};
  settled = settles;
  counters.records += records;
  checkpoints.count_folded(records);
}

// No source has the records from `next` to `last`.
void Checkpointer::State::lose_through(Sequence last, GapCause cause) {
  if (last < next) return;
  const Gap gap{next, last, last + 1, cause, false};
  fold().lose(gap, *store);
  counters.lost += gap.count();
  next = last + 1;
}

absl::Status Checkpointer::State::take_event(const Event& event) {
  if (options.on_event) options.on_event(event);
  switch (event.kind) {
    case EventKind::kSession:
      if (event.is_first_session) {
        if (event.sequence <= 1 && event.follows_journal) fold().lose(kMissingBeginning, *store);
        break;
      }
      if (discarding) return catch_up_with_discarded();
      fold_ready(true);  // the next session begins after the last durable record of this one
      discarding = !pending.is_empty();
      break;
    case EventKind::kLost:
      return take_loss(event.gap);
    case EventKind::kReset:
      return take_reset(event.follows_journal);
    case EventKind::kClosed:
      if (discarding && subscriber->durable() >= pending.last()) {
        return catch_up_with_discarded();
      }
      fold_ready(false);
      closed = true;
      break;
    default:
      break;
  }
  return absl::OkStatus();
}

absl::Status Checkpointer::State::take_loss(const Gap& gap) {
  if (discarding) return catch_up_with_discarded();
  fold_ready(true);
  // Records removed by a cut are pending here and were never durable; the void covers them. (Its
  // gap may begin after them, or be empty.)
  if (gap.cause == GapCause::kVoid) pending.clear();
  if (pending.is_empty()) {
    lose_through(gap.last, gap.cause);
  } else {
    discarding = true;  // it follows records that are not durable; all are read again later
  }
  return absl::OkStatus();
}

// Handles the start of another history, to which none of the kept state belongs.
absl::Status Checkpointer::State::take_reset(bool follows_journal) {
  checkpoints.give_up();
  pending.clear();
  discarding = false;
  folded = {};
  next = 1;
  ++counters.resets;
  checkpoints.remove_all();
  const absl::Status emptied = store->empty();
  store_trouble.note(emptied);
  if (emptied.ok() && follows_journal) fold().lose(kMissingBeginning, *store);
  return may_pass(emptied) ? absl::OkStatus() : emptied;
}

}  // namespace lapwing
