// Makes archived records durable, one cycle at a time.
//
//     W = archived
//     kData    sync every data file written since its last sync (and the index of the last cycle)
//     kSums    write the .sum entries of the blocks up to W
//     kSumSync sync the .sum files                                    durable = W
//     kIndex   append {W, wall clock} to the .idx; synced by the next cycle. It is a hint: if it
//              cannot be written or synced, it is omitted and counted
//
// Archiving continues during a cycle, and may complete W's block and replace the block's sum in
// memory. But the disk has only the synced part, so that entry is copied when the cycle begins.
//
// Thread safety: one thread. No allocation after the start.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "os/io.h"
#include "proto/journal_format.h"
#include "proto/ring_counters.h"
#include "snapshot/archive/request_batch.h"
#include "snapshot/archive/segment_pool.h"
#include "snapshot/archive/session_origin.h"
#include "snapshot/journal/journal_files.h"

namespace lapwing {

class SyncCycle {
 public:
  // Durable starts at first - 1. Request tags start at `tag_base`. The times of the index come from
  // `origin`, or if it is null from begin(). Borrows both.
  SyncCycle(SegmentPool& segments, Sequence first, std::uint64_t tag_base, SessionOrigin* origin);

  bool active() const { return stage_ != Stage::kIdle; }
  // The end of the records that the running cycle makes durable, or durable() if none runs.
  Sequence through() const { return through_; }
  Sequence durable() const { return durable_; }

  // Begins a cycle. Requires that none is active, and that archived ≥ durable.
  void begin(Sequence archived, std::uint64_t now_ns, std::uint64_t wall_ns);
  // For the clean end: a cycle that only syncs the indexes. None may be active.
  void begin_last();
  // Submits what is due, and enters the next stage when the current one is done.
  absl::Status advance(WriteQueue& queue, std::uint64_t now_ns);
  void complete(std::uint64_t tag, std::int64_t result) {
    requests_.complete(tag - tag_base_, result);
  }

  std::uint64_t cycles() const { return cycles_; }
  std::uint64_t cycle_ns_max() const { return cycle_ns_max_; }  // begin to durable
  const Durations& durations() const { return durations_; }     // of all cycles
  // The number of cycles whose index could not be written or synced, and the first error, or ok.
  std::uint64_t index_failures() const { return index_failures_; }
  const absl::Status& index_failure() const { return index_failure_; }

 private:
  enum class Stage { kIdle, kData, kSums, kSumSync, kIndex };

  void enter_next_stage(std::uint64_t now_ns);
  // Calls visit(OpenSegment&, first, last) with each segment's part of durable + 1 … through.
  template <typename Visit>
  void for_each_new_segment(Visit visit);
  void add_data_syncs();
  void add_sum_writes();
  void add_sum_syncs();
  void add_index_writes();
  void end_index(bool written);

  SegmentPool& segments_;
  const JournalFiles& journal_;
  const std::uint64_t tag_base_;
  SessionOrigin* const origin_;
  RequestBatch requests_;
  Stage stage_ = Stage::kIdle;
  Sequence durable_;
  Sequence through_;
  SumEntry through_entry_{};   // of the block of through_, as of begin
  std::uint64_t wall_ns_ = 0;  // when through_ was archived; never decreasing
  std::uint64_t begin_ns_ = 0;
  std::uint64_t cycles_ = 0;
  Durations durations_;
  std::uint64_t cycle_ns_max_ = 0;
  std::uint64_t index_failures_ = 0;
  absl::Status index_failure_;
};

}  // namespace lapwing
