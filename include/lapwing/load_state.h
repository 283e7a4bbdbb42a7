// Loads the folded state of a bus in one call: the newest usable checkpoint and every record since
// then.
//
//   auto loaded = lapwing::load_state({.directory = "./es", .start = lapwing::Start::snapshot()},
//                                     std::chrono::seconds(10));
//   if (!loaded.ok()) return fail(loaded.status());
//   use(loaded->state());                              // as of loaded->as_of()
//   while (loaded->next().ok()) use(loaded->state());  // and after every record and event
//
// The whole state is held in memory, and while it is being loaded, so are the checkpoint's bytes:
// at most twice the size of the state in total. If a state is too large for that, read it with
// Subscriber and Start::snapshot() into your own structure, or examine it in place (Checkpoint).
//
// With SubscriberOptions::instruments, only the state of those instruments is loaded.
//
// Threads, forks: as for Subscriber. A forked child has a copy of the state as of the fork.
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
#include "lapwing/memory_state.h"
#include "lapwing/subscriber.h"

namespace lapwing {

class LoadedState {
 public:
  [[nodiscard]] const Fold& fold() const { return *subscriber_.fold(); }
  [[nodiscard]] const MemoryState& state() const { return *state_; }
  // The last record that was folded.
  [[nodiscard]] Sequence as_of() const { return as_of_; }
  // Whether the state may be shown to others. False inside a venue's event (Fold::settles), and
  // while a state that will replace this one is being loaded (OnGap::kSnapshot).
  [[nodiscard]] bool settled() const { return settled_; }
  // The checkpoint that was loaded and those that were skipped, or why there was none.
  [[nodiscard]] const std::string& origin() const { return origin_; }

  // These work as in Subscriber. Each record and event is folded before the call returns it.
  [[nodiscard]] Result<Item> next(Deadline deadline = Deadline::never());
  [[nodiscard]] Result<Sequence> read_one(std::span<std::byte> record,
                                          Deadline deadline = Deadline::never());
  template <ReadableRecord Record>
  [[nodiscard]] Result<Sequence> read_one(Record& record, Deadline deadline = Deadline::never()) {
    return read_one(std::as_writable_bytes(std::span(&record, 1)), deadline);
  }
  [[nodiscard]] Result<Event> read_event();
  [[nodiscard]] Result<Batch> read(std::span<std::byte> rows,
                                   Deadline deadline = Deadline::never());
  [[nodiscard]] Result<Batch> read(std::span<std::byte> rows, std::span<Sequence> sequences,
                                   Deadline deadline = Deadline::never());
  void interrupt() noexcept { subscriber_.interrupt(); }
  [[nodiscard]] absl::StatusOr<int> fd() { return subscriber_.fd(); }
  [[nodiscard]] bool arm() { return subscriber_.arm(); }
  // Position, counters and status. Do not read records from it.
  [[nodiscard]] const Subscriber& subscriber() const { return subscriber_; }

 private:
  friend struct SubscriberAccess;
  friend absl::StatusOr<LoadedState> load_state(SubscriberOptions, Deadline);
  LoadedState(OnGap on_gap, Subscriber subscriber);
  absl::Status load(Deadline deadline);
  void fold_event(const Event& event);
  void fold_record(Sequence sequence, std::span<const std::byte> record);
  void fold_entry(std::span<const std::byte> entry);
  void fold_batch(const Batch& batch, std::span<const std::byte> rows,
                  std::span<const Sequence> sequences = {});
  void begin(Sequence first, bool follows_journal = false);

  OnGap on_gap_;
  Subscriber subscriber_;
  std::unique_ptr<MemoryState> state_;  // once the fold is known
  std::vector<std::byte> key_;
  Sequence as_of_ = kNoSequence;
  bool settled_ = true;
  bool loading_ = false;  // entries have arrived, but kSnapshotComplete has not
  std::string origin_;
};

// Joins from a snapshot and folds everything up to the join (kCaughtUp). `options.start` must be
// Start::snapshot(…). Errors: kInvalidArgument for another start; kTimedOut; kInterrupted; the
// errors that end a subscriber (Subscriber::status).
[[nodiscard]] absl::StatusOr<LoadedState> load_state(SubscriberOptions options, Deadline deadline);

}  // namespace lapwing
