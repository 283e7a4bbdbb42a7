// What is behind lapwing/checkpointer.h: a subscriber that keeps a fold's state of a bus in a store and writes it to
// checkpoint files. docs/state.md is its specification.
//
//   read     records come into a buffer (pending_records.h)            durable or not
//   fold     from there into the store's memory                        durable, up to where the
//                                                                      fold settles
//   commit   a batch, with its position, now and then                  as of the last one folded
//   write    a checkpoint of a commit, in a thread (checkpoint_job.h)
//
// Nothing is folded that a power cut could take back, so neither store nor checkpoint ever holds
// it, and a void only drops what was waiting. A fold that does not settle for a whole buffer is
// folded on all the same: the store goes on exactly there, but no checkpoint is made of it.
//
// A bus whose `durable` stands still while the buffer is full (its publisher has died, or its
// journal has failed) is followed on for its events, and its records are read again afterwards:
// the subscriber is then opened anew from the store's position, as after a store that could not be
// written to.
//
// Thread safety: one thread; interrupt() at any time. Owns the store, the subscriber, and while a
// checkpoint is written a thread. Memory: that of the store, the buffer, and of one checkpoint's
// writer.
// Errors: whatever may end (a full disk, a publisher that does not prune) is told by `log`, once,
// and tried again; the rest ends it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/checkpointer.h"
#include "lapwing/fold.h"
#include "lapwing/subscriber.h"
#include "os/interrupt.h"
#include "os/io.h"
#include "subscribers/checkpointer/checkpoint_job.h"
#include "subscribers/checkpointer/pending_records.h"
#include "subscribers/checkpointer/state_store.h"
#include "subscribers/checkpointer/trouble.h"

namespace lapwing {

inline constexpr std::uint64_t kDurablePauseNs = 1'000'000;      // for the bus to sync
inline constexpr std::uint64_t kDurableStallNs = 2'000'000'000;  // after which it does not
inline constexpr std::size_t kFoldRecords = 1024;                // whose keys are read at once

// With seams for tests: limits, the disk under the checkpoints, a call before each named step.
struct CheckpointerSetUp : CheckpointerOptions {
  std::size_t pending_bytes_max = kPendingBytesMax;
  std::uint64_t durable_stall_ns = kDurableStallNs;
  std::function<std::unique_ptr<Disk>()> make_disk = {};
  std::function<void(const char* step)> on_step = {};
};

class CheckpointerCore {
 public:
  // As Checkpointer::open(), with a fold that is given. The bus directory is there, the bus need not
  // be. Errors: kInvalidArgument, those of check_placement(); kNotPermitted (the bus directory is
  // another user's, or others may write to that of the checkpoints); those of StateStore::open()
  // and of make_checkpoint_directory().
  static absl::StatusOr<std::unique_ptr<CheckpointerCore>> open(CheckpointerSetUp set_up);
  ~CheckpointerCore();

  // Follows the bus until deadline_ns (CLOCK_MONOTONIC), a closed session or the end. Errors are
  // final, but for kInterrupted: those of Subscriber::status(), kRecordSize (the bus carries other
  // records now), kDamaged.
  absl::Status run_until(std::uint64_t deadline_ns);
  // Ends the run that is under way, or else the next one. From any thread and from a signal handler.
  void interrupt() noexcept { interrupt_.raise(); }
  // The session was closed, and all of it that is durable is folded.
  bool is_closed() const { return closed_; }

  // The last commit and checkpoint, if there is something new. Errors: of either.
  absl::Status finish();

  const Fold& fold() const { return *options_.own_fold; }
  Sequence folded_through() const { return next_ - 1; }
  // Of the last commit; nothing where there was none.
  const std::optional<StorePosition>& committed() const { return store_->position(); }
  const CheckpointerCounters& counters() const { return counters_; }
  // XXH3-64 of the state as of the last commit; reads all of it unless it was just written.
  absl::StatusOr<std::uint64_t> digest() const;

 private:
  CheckpointerCore(CheckpointerSetUp set_up, std::unique_ptr<Disk> disk, std::string directory);

  absl::Status start();
  absl::Status load_checkpoint();

  // Following: checkpointer_follow.cc.
  absl::Status read(std::uint64_t deadline_ns);
  absl::Status take_records(const Batch& batch);
  absl::Status take_event(const Event& event);
  absl::Status take_loss(const Gap& gap);
  absl::Status take_reset(bool follows_journal);
  void fold_ready(bool all);
  void fold(std::size_t records, bool settles);
  void lose_through(Sequence last, GapCause cause);
  absl::Status check_records() const;
  void watch_durable();
  absl::Status catch_up_with_discarded();
  void reopen_subscriber();
  void rest(std::uint64_t until_ns) const;
  static absl::Status interrupted();

  // Keeping: checkpointer_core.cc.
  absl::Status commit_if_due();
  absl::Status commit();
  static bool may_pass(const absl::Status& status);
  bool checkpoint_due(std::uint64_t now_ns) const;
  bool has_checkpoint_to_write() const;
  absl::Status reopen_store();
  void start_checkpoint();
  void take_result(const CheckpointResult& result);
  void end_job();
  void remove_checkpoints();
  absl::Status not_finished() const;
  // Something new, and as of a record: a loss is of the batch that ends with the record after it.
  bool may_commit() const {
    return folded_.sequence == folded_through() && folded_.sequence != committed_through();
  }
  Sequence committed_through() const {
    return committed() ? committed()->at.sequence : kNoSequence;
  }
  CheckpointTask task(bool prune_journal) const;
  void step(const char* name) const {
    if (options_.on_step) options_.on_step(name);
  }

  const CheckpointerSetUp options_;
  const Fold* const fold_;  // of the options
  const std::unique_ptr<Disk> disk_;
  const std::string directory_;  // of the checkpoints
  std::unique_ptr<StateStore> store_;
  Interrupt interrupt_;  // borrowed by each subscriber
  absl::StatusOr<Subscriber> subscriber_ = absl::UnknownError("not open");

  PendingRecords pending_;
  StoredPosition pending_of_;  // their journal and session
  StoredPosition folded_;      // the last record that was folded
  Sequence next_ = 1;          // to be folded
  bool settled_ = false;       // what is folded since the last commit may be shown
  bool closed_ = false;
  bool discarding_ = false;  // records are not kept: they are read again
  std::uint64_t durable_moved_ns_ = 0;
  Sequence durable_seen_ = 0;
  std::vector<std::byte> keys_;  // of prefetches

  std::uint64_t committed_ns_ = 0;
  Sequence checkpointed_ = kNoSequence;  // as-of of the newest checkpoint
  std::uint64_t checkpointed_ns_ = 0;
  std::uint64_t records_since_ = 0;  // folded since the newest checkpoint
  std::unique_ptr<CheckpointJob> job_;
  Sequence job_as_of_ = kNoSequence;  // what it writes
  std::uint64_t job_began_ns_ = 0;    // then …
  std::uint64_t job_records_ = 0;     // … records_since_ was this
  Trouble store_trouble_;
  Trouble checkpoint_trouble_;
  Trouble prune_trouble_;
  CheckpointerCounters counters_;
};

}  // namespace lapwing
