// Creates a checkpoint from a commit: writes it, removes old checkpoints, and asks the publisher to
// prune the part of the journal that no checkpoint needs. Runs on its own thread, because a
// checkpoint of a large state takes far longer than a batch.
//
// Thread safety: CheckpointJob belongs to one thread; disk and fold are used by both.
// Ownership: the job owns its snapshot. Its destructor abandons the checkpoint and waits for the
// thread.
// Errors: in the result, one for each of the three steps; none of them is final.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "lapwing/checkpointer.h"
#include "lapwing/fold.h"
#include "lapwing/sequence.h"
#include "lapwing/thread_placement.h"
#include "os/io.h"
#include "os/thread_words.h"
#include "subscribers/checkpointer/state_store.h"

namespace lapwing {

inline constexpr std::uint64_t kPruneTimeoutNs = 5'000'000'000;

struct CheckpointTask {
  Disk* disk = nullptr;
  std::string bus;             // its directory
  std::string directory;       // of the fold's checkpoints
  const Fold* fold = nullptr;  // used by both threads
  std::uint64_t keep = 1;
  bool prune_journal = false;
  ThreadPlacement threads = {};
};

struct CheckpointResult : WrittenCheckpoint {
  absl::Status written;  // kClosed: abandoned
  absl::Status retained;
  bool is_prune_asked = false;
  absl::Status pruned;
};

// Runs all three steps on the calling thread. Abandons the checkpoint soon after `stop` is set.
CheckpointResult make_checkpoint(const CheckpointTask& task, const StateSnapshot& snapshot,
                                 const StickyFlag& stop);

class CheckpointJob {
 public:
  // Errors: kLimit: no thread can be created; those of place_this_thread.
  static absl::StatusOr<std::unique_ptr<CheckpointJob>> start(CheckpointTask task,
                                                              StateSnapshot snapshot);
  ~CheckpointJob();

  bool is_done() const;
  // Waits for the thread.
  CheckpointResult finish();
  void give_up() { stop_.set(); }

 private:
  CheckpointJob() = default;

  StickyFlag stop_;
  std::future<CheckpointResult> result_;
  std::thread thread_;
};

}  // namespace lapwing
