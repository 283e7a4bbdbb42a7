// What follows on a commit that a checkpoint is made of: write it, remove old ones, and ask the
// publisher to drop what no checkpoint needs of the journal. In a thread of its own, since a
// checkpoint of a large state takes far longer than a batch.
//
// Thread safety: CheckpointJob belongs to one thread; disk and fold are used by both.
// Ownership: the job owns its snapshot; destroying it gives the checkpoint up and waits for the
// thread.
// Errors: in the result, one for each of the three; none is final.
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
  const Fold* fold = nullptr;  // which both threads use
  std::uint64_t keep = 1;
  bool prune_journal = false;
  ThreadPlacement threads = {};
};

struct CheckpointResult : WrittenCheckpoint {
  absl::Status written;  // kClosed: it was given up
  absl::Status retained;
  bool is_prune_asked = false;
  absl::Status pruned;
};

// All of it, here and now. Gives the writing up soon after `stop` is set.
CheckpointResult make_checkpoint(const CheckpointTask& task, const StateSnapshot& snapshot,
                                 const StickyFlag& stop);

class CheckpointJob {
 public:
  // Errors: kLimit, if there is no thread to be had; those of place_this_thread.
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
