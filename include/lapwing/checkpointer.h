// The checkpointer: a subscriber that keeps the state which a fold makes of a bus, in a store on
// disk, and writes checkpoints of it, so that others join late without reading the day.
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
// Link lapwing::checkpoints: it adds RocksDB, which nothing else of Lapwing needs.
//
// Only what is durable is folded, so neither store nor checkpoint ever holds what a power cut could
// take back. A process that was killed continues where its store was committed last; a checkpoint
// that has the name of one is whole. docs/explanation/state.md is the specification.
//
// Threads: one thread at a time, any thread; interrupt() at any time. It has a thread of its own
// while it writes a checkpoint, and calls `log` and `on_event` from the calls of its functions
// only. Owns the store, its directory and the subscriber. Memory, whatever the state's size:
// hot_bytes_max, RocksDB's buffers and cache (256 MiB at most), 16 MiB of records that wait, and
// one checkpoint's writer.
// Fork: in a forked child run(), finish() and digest() answer kForked, and the destructor does
// nothing. RocksDB's own descriptors stay open there: a child that lives on should exec.
//
// Errors: what may pass (a full disk, a publisher that does not prune) goes to `log`, once, and is
// tried again. The rest ends it.
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
  // Where and how to follow. start, on_gap and end_at_close are ignored: the checkpointer sets
  // them. instruments are refused: a checkpoint is the state of the whole bus. threads places the
  // thread that writes checkpoints; RocksDB's threads inherit from those that call open() and
  // run().
  SubscriberOptions subscriber = {};
  std::string fold = {};                      // empty: default_fold()
  std::shared_ptr<const Fold> own_fold = {};  // instead of `fold`
  // A checkpoint after so many records or so much time. 0: not by that.
  std::uint64_t every_records = 0;
  std::chrono::nanoseconds every = std::chrono::seconds(30);
  std::uint64_t keep = 3;      // checkpoints
  bool prune_journal = false;  // asks the publisher to remove what is below the oldest of them
  // Between two commits of the store: how much is folded again after a kill.
  std::chrono::nanoseconds commit_interval = std::chrono::seconds(1);
  std::uint64_t hot_bytes_max = 64 * 1024 * 1024;  // entries that changed since the last commit
  LogHook log = {};
  std::function<void(const Event& event)> on_event = {};
};

struct WrittenCheckpoint {
  Sequence as_of = kNoSequence;
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
  std::uint64_t digest = 0;  // of the state: MemoryState::digest()
  std::chrono::nanoseconds write_time = {};
  Sequence journal_oldest = kNoSequence;  // after pruning; kNoSequence: not pruned
};

struct CheckpointerCounters {
  std::uint64_t records = 0;  // folded
  std::uint64_t lost = 0;     // that nothing could give
  std::uint64_t commits = 0;
  std::uint64_t checkpoints = 0;
  std::uint64_t resets = 0;
  WrittenCheckpoint last = {};  // the checkpoint that was written last
};

struct CheckpointerSetUp;

class Checkpointer {
 public:
  // Opens the store, or makes it from the newest checkpoint of the bus's journal, and tidies up
  // behind whoever was killed. With a fold of your own the bus directory must be there, and the bus
  // need not be; with a name the bus must be there too. Waits for nothing else.
  // Errors: kNoBus; kInUse (another checkpointer of this fold, with its process);
  // kInvalidArgument (no such fold; a store of another fold; keep is 0; the options); kNotPermitted
  // (the bus directory is another user's, or others may write to that of the checkpoints; threads);
  // kDamaged, kNotALapwingFile, kNoSpace, kSystem.
  [[nodiscard]] static absl::StatusOr<Checkpointer> open(CheckpointerOptions options);
  Checkpointer(Checkpointer&&) noexcept;
  Checkpointer& operator=(Checkpointer&&) noexcept;
  // Gives up a checkpoint that is being written, and waits for its thread. The store keeps what was
  // committed.
  ~Checkpointer();

  // Follows the bus until the deadline, the session's end (is_closed()) or interrupt(); the next
  // call continues. Errors: kInterrupted; the others are final: those of Subscriber::status(),
  // kRecordSize (the bus carries other records now), kDamaged.
  [[nodiscard]] absl::Status run(Deadline deadline);
  // Ends the run() that is under way, or else the next one, with kInterrupted. From any thread,
  // also from a signal handler. Not finish(), which waits for nobody but the disk.
  void interrupt() noexcept;
  // Whether the last run() ended because the session was closed and all of it that is durable is
  // folded. The next run() waits for another session.
  [[nodiscard]] bool is_closed() const;
  // Commits, and writes a checkpoint if there is something new: waits for the disk. Errors: of
  // either.
  [[nodiscard]] absl::Status finish();

  [[nodiscard]] const Fold& fold() const;
  [[nodiscard]] Sequence folded_through() const;
  // The last commit; nothing where there was none.
  [[nodiscard]] std::optional<StoredPosition> committed() const;
  [[nodiscard]] const CheckpointerCounters& counters() const;
  // MemoryState::digest() of the state as of the last commit. Reads all of it, unless it was just
  // written.
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
