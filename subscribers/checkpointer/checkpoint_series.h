// A fold's checkpoints: when the next one is due, the thread that writes it, and its result. A
// failure is logged once, and the checkpoint is retried.
//
// Thread safety: one thread. Owns the disk and, while a checkpoint is written, a thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/checkpointer.h"
#include "lapwing/fold.h"
#include "lapwing/sequence.h"
#include "os/io.h"
#include "snapshot/checkpoint/loaded_checkpoint.h"
#include "subscribers/checkpointer/checkpoint_job.h"
#include "subscribers/checkpointer/checkpointer_set_up.h"
#include "subscribers/checkpointer/state_store.h"
#include "subscribers/checkpointer/trouble.h"

namespace lapwing {

class CheckpointSeries {
 public:
  // `options` and `counters` must outlive it.
  CheckpointSeries(const CheckpointerSetUp& options, std::unique_ptr<Disk> disk,
                   std::string directory, CheckpointerCounters& counters);

  const std::string& directory() const { return directory_; }
  // The journal's newest checkpoint. Errors: kNotFound; those of choose_checkpoint().
  absl::StatusOr<LoadedCheckpoint> newest(const Id128& journal_id) const;
  // Removes the oldest checkpoints in excess of `keep`. `committed` is the store's position.
  // The next checkpoint is due one interval from now.
  absl::Status begin(const std::optional<StorePosition>& committed);

  void count_folded(std::uint64_t records) { records_since_ += records; }
  // True if a checkpoint is due by time or by record count, even if
  // there is nothing new to write.
  bool is_due(std::uint64_t now_ns) const;
  void start_if_new(const StateStore& store);
  void end_if_done();
  // Abandons the checkpoint that is being written.
  void give_up();
  // Call it when another history has begun. Removes all checkpoints, because their sequences may be
  // above all future ones.
  void remove_all();
  // Waits for the checkpoint that is being written, and writes a newer one if there are newer
  // records. `is_closed`: the session was closed, so there is no publisher to prune the journal.
  // Errors: those from writing the last checkpoint.
  absl::Status finish(const StateStore& store, bool is_closed);

 private:
  const FoldShape& shape() const { return options_.own_fold->shape(); }
  CheckpointTask task(bool prune_journal) const;
  bool is_new(const StateStore& store) const;
  void end(bool is_closed);
  void take_result(const CheckpointResult& result, bool is_closed);

  const CheckpointerSetUp& options_;
  const std::unique_ptr<Disk> disk_;
  const std::string directory_;
  CheckpointerCounters& counters_;
  Sequence newest_ = kNoSequence;  // as-of of the newest checkpoint
  std::uint64_t newest_ns_ = 0;    // when it was started
  std::uint64_t records_since_ = 0;
  std::unique_ptr<CheckpointJob> job_;
  Sequence job_as_of_ = kNoSequence;  // sequence of the checkpoint being written
  std::uint64_t job_began_ns_ = 0;    // when it was started …
  std::uint64_t job_records_ = 0;     // … and records_since_ at that time
  Trouble trouble_;
  Trouble prune_trouble_;
};

}  // namespace lapwing
