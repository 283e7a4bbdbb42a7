#include "lapwing/load_state.h"

#include <utility>

#include "lapwing/error.h"
#include "os/kernel.h"

namespace lapwing {
namespace {

constexpr std::size_t kBatchRecords = 1024;

}  // namespace

LoadedState::LoadedState(SubscriberOptions options)
    : on_gap_(options.on_gap), subscriber_(std::move(options)) {}

void LoadedState::take(const Item& item) {
  switch (item.kind) {
    case ItemKind::kRecord:
      return take_record(item.sequence, subscriber_.record());
    case ItemKind::kState:
      return take_entry();
    case ItemKind::kSnapshotComplete:
      if (state_ == nullptr) begin(1);  // of a state without an entry
      as_of_ = item.sequence;
      origin_ = subscriber_.text();
      return;
    case ItemKind::kNoSnapshot:
      origin_ = subscriber_.text();
      return begin(item.sequence);
    case ItemKind::kReset:
      return begin(item.sequence);
    case ItemKind::kGap:
      if (on_gap_ == OnGap::kSkip) fold().lose(item.gap, *state_);
      return;
    case ItemKind::kLost:
      if (item.gap.count() > 0) fold().lose(item.gap, *state_);
      return;
    default:
      return;
  }
}

void LoadedState::take_record(Sequence sequence, std::span<const std::byte> record) {
  fold().apply(sequence, record, *state_);
  as_of_ = sequence;
  settled_ = fold().settles(record);
}

void LoadedState::take_entry() {
  if (state_ == nullptr) begin(1);
  fold().key_of(subscriber_.record(), key_);
  state_->put(key_, subscriber_.record());
}

// An empty state, of a history whose first record is `first`.
void LoadedState::begin(Sequence first) {
  state_ = std::make_unique<MemoryState>(fold().shape());
  key_.resize(fold().shape().key_bytes);
  as_of_ = first - 1;
  settled_ = true;
  if (first > 1) fold().lose({1, first - 1, first, GapCause::kPruned, false}, *state_);
}

absl::Status LoadedState::load(std::uint64_t deadline_ns) {
  for (std::uint64_t items = 0;; ++items) {
    const Item item = subscriber_.wait(deadline_ns);
    if (item.kind == ItemKind::kEnded) return subscriber_.status();
    // A wait returns what is there, however late it is. A record brings a batch with it.
    const bool look = item.kind == ItemKind::kRecord || items % kBatchRecords == 0;
    if (item.kind == ItemKind::kNothing || (look && monotonic_ns() >= deadline_ns)) {
      return make_error(Errc::kTimedOut,
                        "the state was not loaded in time; allow more, or look whether the bus's "
                        "publisher answers (lapwing info)");
    }
    take(item);
    if (item.kind == ItemKind::kCaughtUp) return absl::OkStatus();
    if (item.kind != ItemKind::kRecord) continue;
    const std::size_t record_bytes = subscriber_.record_bytes();
    batch_.resize(kBatchRecords * record_bytes);
    const std::size_t count = subscriber_.poll_batch(batch_);
    const Sequence first = subscriber_.counters().last - count + 1;
    for (std::size_t i = 0; i < count; ++i) {
      take_record(first + i, std::span(batch_).subspan(i * record_bytes, record_bytes));
    }
  }
}

absl::StatusOr<LoadedState> load_state(SubscriberOptions options, std::uint64_t deadline_ns) {
  if (options.start.kind != Start::Kind::kSnapshot || options.resume) {
    return make_error(Errc::kInvalidArgument,
                      "a state is loaded from a snapshot: give Start::snapshot() and no position");
  }
  LoadedState loaded(std::move(options));
  if (absl::Status done = loaded.load(deadline_ns); !done.ok()) return done;
  return loaded;
}

}  // namespace lapwing
