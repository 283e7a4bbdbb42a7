// How a checkpointer (lapwing/checkpointer.h) keeps a fold's state for a bus in a store, and writes
// it to checkpoint files. Specification: docs/explanation/state.md.
//
//   read     records are read into a buffer (pending_records.h)           durable or not
//   fold     from there into the store's memory                           durable, up to where the
//                                                                         fold settles
//   commit   a batch, with its position, at intervals                     as of the last one folded
//   write    a checkpoint of a commit, on a thread (checkpoint_series.h)
//
// Records that a power cut could remove are never folded. So neither the store nor a checkpoint
// ever holds such a record, and a void drops only records that were waiting. If a fold does not
// settle within a whole buffer, the buffer is folded anyway. The store then continues exactly
// there, and no checkpoint is created from that state.
//
// If `durable` does not advance while the buffer is full, the publisher has died or its journal has
// failed. The bus is then followed only for its events, and its records are read again afterwards.
// To do so, the subscriber is reopened at the store's position, as after a store failure.
//
// Thread safety: one thread; `interrupt` at any time. Owns the store, the subscriber, and the
// checkpoints. Memory: the store's, the buffer's, and one checkpoint writer's.
// Errors: a temporary failure (a full disk, a publisher that does not prune) is logged once, and the
// operation is retried. Any other failure ends the run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/checkpointer.h"
#include "lapwing/fold.h"
#include "lapwing/subscriber.h"
#include "os/fork.h"
#include "os/interrupt.h"
#include "subscribers/checkpointer/checkpoint_series.h"
#include "subscribers/checkpointer/checkpointer_set_up.h"
#include "subscribers/checkpointer/pending_records.h"
#include "subscribers/checkpointer/state_store.h"
#include "subscribers/checkpointer/trouble.h"

namespace lapwing {

struct Checkpointer::State {
  State(CheckpointerSetUp set_up, std::unique_ptr<Disk> disk, std::string directory);

  // Keeping the state: checkpointer.cc.
  absl::Status start();
  absl::Status load_checkpoint();
  absl::Status commit_if_due();
  absl::Status commit();
  absl::Status reopen_store();
  absl::Status not_finished() const;

  // Following the bus: checkpointer_follow.cc.
  absl::Status read(std::uint64_t deadline_ns);
  absl::Status take_records(const Batch& batch);
  absl::Status take_event(const Event& event);
  absl::Status take_loss(const Gap& gap);
  absl::Status take_reset(bool follows_journal);
  void fold_ready(bool all);
  void fold_records(std::size_t records, bool settles);
  void lose_through(Sequence last, GapCause cause);
  absl::Status check_records() const;
  void watch_durable();
  absl::Status catch_up_with_discarded();
  void reopen_subscriber();
  void rest(std::uint64_t until_ns) const;

  const Fold& fold() const { return *options.own_fold; }
  Sequence folded_through() const { return next - 1; }
  // The last commit; nullopt if there is none.
  const std::optional<StorePosition>& committed() const { return store->position(); }
  Sequence committed_through() const {
    return committed() ? committed()->at.sequence : kNoSequence;
  }
  // True if there are new records and the last sequence is a record's. A loss belongs to the batch
  // that ends with the record after it.
  bool may_commit() const {
    return folded.sequence == folded_through() && folded.sequence != committed_through();
  }

  const CheckpointerSetUp options;
  CheckpointerCounters counters;
  std::unique_ptr<StateStore> store;
  CheckpointSeries checkpoints;
  Interrupt interrupt;  // borrowed by each subscriber
  absl::StatusOr<Subscriber> subscriber = absl::UnknownError("not open");

  PendingRecords pending;
  StoredPosition pending_of;  // journal and session of the pending records
  StoredPosition folded;      // the last record that was folded
  Sequence next = 1;          // the next sequence to fold
  bool settled = false;       // the state folded since the last commit may be exposed
  bool closed = false;        // the session was closed, and all its durable records are folded
  bool discarding = false;    // records are not kept; they are read again later
  std::uint64_t durable_moved_ns = 0;
  Sequence durable_seen = 0;
  std::vector<std::byte> key_room;  // for prefetch()

  std::uint64_t committed_ns = 0;
  Trouble store_trouble;
  const ForkWatch fork{"checkpointer"};
};

// True if the cause of a failure may disappear by itself or through an operator's action.
bool may_pass(const absl::Status& status);
// The result for an interrupted run.
absl::Status interrupted_run();

}  // namespace lapwing
