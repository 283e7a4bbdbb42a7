// The checkpointer: a subscriber that folds a bus into a store on disk and writes checkpoints of
// that state. A late joiner loads a checkpoint instead of reading the whole day.
//
//   auto checkpointer = lapwing::Checkpointer::open(
//       {.subscriber = {.directory = "./es"}, .fold = "orders"});
//   if (!checkpointer.ok()) return fail(checkpointer.status());
//   while (!checkpointer->is_closed()) {
//     absl::Status run = checkpointer->run(lapwing::Deadline::never());
//     if (lapwing::errc_of(run) == lapwing::Errc::kInterrupted) break;  // by a signal handler
//     if (!run.ok()) return fail(run);
//   }
//   return checkpointer->finish();
//
// Link with lapwing::checkpoints. It depends on RocksDB, which no other part of Lapwing needs.
//
// Only durable records are folded, so neither the store nor a checkpoint contains a record that a
// power cut could remove. After a kill, the next process continues at the last commit of the store.
// A file with a checkpoint's name is always complete. docs/explanation/state.md is the
// specification.
//
// Threads: any thread may use it, but only one at a time; interrupt() may be called at any time. A
// separate thread writes checkpoints. `log` and `on_event` are called only from within its member
// functions. It owns the store, its directory and the subscriber. Memory use does not depend on the
// state's size. It consists of hot_bytes_max, RocksDB's buffers and cache (at most 256 MiB), 16 MiB
// of waiting records, and one checkpoint writer. Fork: in a forked child run(), finish() and
// digest() return kForked, and the destructor does nothing. RocksDB's descriptors stay open in the
// child, so it should exec if it continues to run.
//
// Errors: temporary problems (a full disk, a publisher that does not prune) are reported once to
// `log`, and the operation is retried. All other errors are final.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/fold.h"
#include "lapwing/log.h"
#include "lapwing/sequence.h"
#include "lapwing/subscriber.h"
#include "lapwing/waiting.h"

namespace lapwing {

struct CheckpointerOptions {
  // The bus and how to follow it. `start`, `on_gap` and `end_at_close` are ignored, because the
  // checkpointer sets them. `instruments` is refused, because a checkpoint is the state of the
  // whole bus. `threads` applies to the thread that writes checkpoints. RocksDB's threads inherit
  // their placement from the threads that call open() and run().
  SubscriberOptions subscriber = {};
  std::string fold = {};                      // empty: default_fold()
  std::shared_ptr<const Fold> own_fold = {};  // instead of `fold`
  // A checkpoint is written after this many records or this much time; 0 disables either limit.
  std::uint64_t every_records = 0;
  std::chrono::nanoseconds every = std::chrono::seconds(30);
  std::uint64_t keep = 3;      // checkpoints
  bool prune_journal = false;  // requests removal of segments below the oldest kept checkpoint
  // Time between commits of the store. After a kill, records since the last one are folded again.
  std::chrono::nanoseconds commit_interval = std::chrono::seconds(1);
  std::uint64_t hot_bytes_max = 64 * 1024 * 1024;  // entries that changed since the last commit
  LogHook log = {};
  std::function<void(const Event& event)> on_event = {};
};

struct WrittenCheckpoint {
  Sequence as_of = kNoSequence;
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
  std::uint64_t digest = 0;  // MemoryState::digest() of the state
  std::chrono::nanoseconds write_time = {};
  Sequence journal_oldest = kNoSequence;  // after pruning; kNoSequence: not pruned
};

struct CheckpointerCounters {
  std::uint64_t records = 0;  // folded
  std::uint64_t lost = 0;     // not available from ring or journal
  std::uint64_t commits = 0;
  std::uint64_t checkpoints = 0;
  std::uint64_t resets = 0;
  WrittenCheckpoint last = {};  // the newest checkpoint that was written
};

struct CheckpointerSetUp;

class Checkpointer {
 public:
  // Opens the store, or creates it from the newest checkpoint of the bus's journal. Removes files
  // that a killed checkpointer left behind. With own_fold, the bus directory must exist; otherwise
  // the bus must exist as well. Does not wait.
  // Errors: kNoBus; kInUse (another checkpointer has this fold; the message names its process).
  // kInvalidArgument: no such fold, a store that belongs to another fold, keep is 0, or invalid
  // options. kNotPermitted: the bus directory belongs to another user, or others may write to the
  // checkpoint directory, or the thread placement is not permitted. Also kDamaged,
  // kNotALapwingFile, kNoSpace, kSystem.
  [[nodiscard]] static absl::StatusOr<Checkpointer> open(CheckpointerOptions options);
  Checkpointer(Checkpointer&&) noexcept;
  Checkpointer& operator=(Checkpointer&&) noexcept;
  // Abandons a checkpoint that is being written, and waits for its thread. The store keeps
  // everything that was committed.
  ~Checkpointer();

  // Follows the bus until the deadline, the session's end (is_closed()) or interrupt(). The next
  // call continues. Errors: kInterrupted. All others are final: those of Subscriber::status(),
  // kRecordSize (the bus now carries different records), kDamaged.
  [[nodiscard]] absl::Status run(Deadline deadline);
  // Ends the run() under way, or else the next one, with kInterrupted. Safe from any thread and
  // from a signal handler. Does not end finish(), which waits only for the disk.
  void interrupt() noexcept;
  // Whether the last run() ended because the session was closed and all its durable records are
  // folded. The next run() waits for another session.
  [[nodiscard]] bool is_closed() const;
  // Commits, and writes a checkpoint if something changed since the last one. Waits for the disk.
  // Returns errors from either step.
  [[nodiscard]] absl::Status finish();

  [[nodiscard]] const Fold& fold() const;
  [[nodiscard]] Sequence folded_through() const;
  // The last commit; nullopt if there was none.
  [[nodiscard]] std::optional<StoredPosition> committed() const;
  [[nodiscard]] const CheckpointerCounters& counters() const;
  // MemoryState::digest() of the state as of the last commit. Reads all of the state, unless it was
  // just written.
  [[nodiscard]] absl::StatusOr<std::uint64_t> digest() const;

 private:
  friend absl::StatusOr<Checkpointer> start_checkpointer(CheckpointerSetUp set_up);
  struct State;
  struct DeleteState {
    void operator()(State* state) const;  // not in a forked child
  };
  using StateHandle = std::unique_ptr<State, DeleteState>;
  explicit Checkpointer(StateHandle state);
  StateHandle state_;
};

}  // namespace lapwing
