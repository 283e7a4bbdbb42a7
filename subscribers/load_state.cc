#include "lapwing/load_state.h"

#include <utility>

#include "lapwing/error.h"
#include "os/deadline.h"

namespace lapwing {
namespace {

constexpr std::size_t kBatchBytes = 64 * 1024;

}  // namespace

LoadedState::LoadedState(OnGap on_gap, Subscriber subscriber)
    : on_gap_(on_gap), subscriber_(std::move(subscriber)) {}

Result<Item> LoadedState::next(Deadline deadline) {
  const Result<Item> item = subscriber_.next(deadline);
  if (!item.ok()) return item;
  if (item->kind == ItemKind::kRecord) fold_record(item->sequence, item->record);
  if (item->kind == ItemKind::kState) fold_entry(item->record);
  if (item->event != nullptr) fold_event(*item->event);
  return item;
}

Result<Sequence> LoadedState::read_one(std::span<std::byte> record, Deadline deadline) {
  const Result<Sequence> sequence = subscriber_.read_one(record, deadline);
  if (sequence.ok()) fold_record(*sequence, record);
  return sequence;
}

Result<Event> LoadedState::read_event() {
  Result<Event> event = subscriber_.read_event();
  if (event.ok()) fold_event(*event);
  return event;
}

Result<Batch> LoadedState::read(std::span<std::byte> rows, Deadline deadline) {
  Result<Batch> batch = subscriber_.read(rows, deadline);
  fold_batch(*batch, rows);
  return batch;
}

Result<Batch> LoadedState::read(std::span<std::byte> rows, std::span<Sequence> sequences,
                                Deadline deadline) {
  Result<Batch> batch = subscriber_.read(rows, sequences, deadline);
  fold_batch(*batch, rows, sequences);
  return batch;
}

// `sequences`: the batch's column; empty: its rows are consecutive.
void LoadedState::fold_batch(const Batch& batch, std::span<const std::byte> rows,
                             std::span<const Sequence> sequences) {
  if (batch.event) fold_event(*batch.event);
  for (std::size_t i = 0; i < batch.count; ++i) {
    const auto row = rows.subspan(i * batch.row_bytes, batch.row_bytes);
    if (batch.kind == ItemKind::kState) {
      fold_entry(row);
    } else {
      fold_record(sequences.empty() ? batch.first + i : sequences[i], row);
    }
  }
}

void LoadedState::fold_event(const Event& event) {
  switch (event.kind) {
    case EventKind::kSnapshotComplete:
      if (!loading_) begin(1);  // the state had no entry
      loading_ = false;
      settled_ = true;
      as_of_ = event.sequence;
      origin_ = event.text;
      return;
    case EventKind::kNoSnapshot:
      origin_ = event.text;
      // After a gap, the records continue the existing state.
      if (state_ == nullptr) begin(event.sequence, event.follows_journal);
      return;
    case EventKind::kReset:
      return begin(event.sequence, event.follows_journal);
    case EventKind::kGap:
      if (on_gap_ == OnGap::kSkip) fold().lose(event.gap, *state_);
      return;
    case EventKind::kLost:
      if (event.gap.count() > 0) fold().lose(event.gap, *state_);
      return;
    default:
      return;
  }
}

void LoadedState::fold_record(Sequence sequence, std::span<const std::byte> record) {
  fold().apply(sequence, record, *state_);
  as_of_ = sequence;
  settled_ = fold().settles(record);
}

void LoadedState::fold_entry(std::span<const std::byte> entry) {
  if (!loading_) {
    begin(1);
    loading_ = true;
    settled_ = false;
  }
  fold().key_of(entry, key_);
  state_->put(key_, entry);
}

// Begins an empty state for a history whose first record is `first`.
void LoadedState::begin(Sequence first, bool follows_journal) {
  state_ = std::make_unique<MemoryState>(fold().shape());
  key_.resize(fold().shape().key_bytes);
  as_of_ = first - 1;
  settled_ = true;
  loading_ = false;
  if (first > 1) {
    fold().lose({1, first - 1, first, GapCause::kPruned, false}, *state_);
  } else if (follows_journal) {
    fold().lose(kMissingBeginning, *state_);
  }
}

absl::Status LoadedState::load(Deadline deadline) {
  std::vector<std::byte> rows(kBatchBytes);
  for (;;) {
    const Result<Batch> batch = read(rows, deadline);
    if (batch == Errc::kInterrupted) {
      return make_error(Errc::kInterrupted, "interrupt() ended the load of the state");
    }
    if (batch == Errc::kTooSmall) {
      rows.resize(batch->row_bytes);
      continue;
    }
    const bool is_late = came_to_nothing(batch.error());
    if (!batch.ok() && !is_late) return subscriber_.status();
    // A read returns available items even after its deadline.
    if (is_late || deadline.has_passed()) {
      return make_error(Errc::kTimedOut,
                        "the state was not loaded in time. Allow more time, or check with `lapwing "
                        "info` that the bus's publisher answers");
    }
    if (batch->is(EventKind::kCaughtUp)) return absl::OkStatus();
  }
}

absl::StatusOr<LoadedState> load_state(SubscriberOptions options, Deadline deadline) {
  if (options.start.kind != Start::Kind::kSnapshot) {
    return make_error(Errc::kInvalidArgument,
                      "a state is loaded from a snapshot: use Start::snapshot()");
  }
  const OnGap on_gap = options.on_gap;
  absl::StatusOr<Subscriber> subscriber = Subscriber::open(std::move(options));
  if (!subscriber.ok()) return subscriber.status();
  LoadedState loaded(on_gap, *std::move(subscriber));
  if (absl::Status done = loaded.load(deadline); !done.ok()) return done;
  return loaded;
}

}  // namespace lapwing
