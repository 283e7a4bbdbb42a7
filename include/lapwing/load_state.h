// The folded state of a bus in one call: the newest checkpoint that is good, and every record from
// there up to now.
//
//   const SubscriberOptions options{.directory = "/run/es", .start = Start::snapshot()};
//   auto loaded = lapwing::load_state(options, deadline_ns);
//   if (!loaded.ok()) return fail(loaded.status());
//   use(loaded->state());                                       // as of loaded->as_of()
//   for (;;) loaded->take(loaded->subscriber().wait(soon_ns));  // and on, record by record
//
// The whole state is held in memory, and while it is loaded the checkpoint's bytes besides: at most
// twice its size in all. A state that is larger than that is read with Subscriber and
// Start::snapshot() into something of your own, or looked into where it is (Checkpoint).
//
// Thread safety: one thread. Owns the subscriber and the state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/fold.h"
#include "lapwing/sequence.h"
#include "lapwing/subscriber.h"
#include "snapshot/fold/memory_state.h"

namespace lapwing {

class LoadedState {
 public:
  const Fold& fold() const { return *subscriber_.fold(); }
  const MemoryState& state() const { return *state_; }
  // The last record that was folded; the subscriber goes on after it.
  Sequence as_of() const { return as_of_; }
  // Whether the state may be shown to others: false inside a venue's event (Fold::settles).
  bool settled() const { return settled_; }
  // From which checkpoint it is, and what was passed over; or why there was none.
  const std::string& origin() const { return origin_; }

  Subscriber& subscriber() { return subscriber_; }
  // Folds what the subscriber gave last: a record, a loss, another history. Other events change
  // nothing.
  void take(const Item& item);

 private:
  friend absl::StatusOr<LoadedState> load_state(SubscriberOptions, std::uint64_t);
  explicit LoadedState(SubscriberOptions options);
  absl::Status load(std::uint64_t deadline_ns);
  void take_record(Sequence sequence, std::span<const std::byte> record);
  void take_entry();
  void begin(Sequence first);

  OnGap on_gap_;
  Subscriber subscriber_;
  std::unique_ptr<MemoryState> state_;  // once the fold is known
  std::vector<std::byte> key_;
  std::vector<std::byte> batch_;
  Sequence as_of_ = kNoSequence;
  bool settled_ = true;
  std::string origin_;
};

// Joins from a snapshot and folds everything up to the join (kCaughtUp). `options.start` is
// Start::snapshot(…). Errors: kInvalidArgument for another start; kTimedOut at deadline_ns
// (CLOCK_MONOTONIC); what ends a subscriber (Subscriber::status).
absl::StatusOr<LoadedState> load_state(SubscriberOptions options, std::uint64_t deadline_ns);

}  // namespace lapwing
