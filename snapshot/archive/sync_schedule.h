// Decides when to write a partial block and when to begin a sync. Performs no I/O.
//
// A partial block is due for a flush, after the sync interval, or after kIdlePartialNs without a
// new record. A sync is due for a flush, for a full segment, or after the interval, which starts at
// the first record that no sync covers. A due sync waits until the head as of its due time is
// archived, so that it covers the partial block written for it. It waits at most one more interval,
// so that syncs continue even if the disk lags behind. Records beyond `provable_max` are treated
// as if they were not archived, and a flush does not wait for them.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>

#include "lapwing/sequence.h"
#include "snapshot/journal/journal_geometry.h"

namespace lapwing {

inline constexpr std::uint64_t kIdlePartialNs = 1'000'000;

class SyncSchedule {
 public:
  SyncSchedule(const JournalGeometry& geometry, std::uint64_t interval_ns)
      : geometry_(geometry), interval_ns_(interval_ns) {}

  // The progress of the journal. `covered`: the end of the last sync that has begun. A sync may
  // cover the records up to `provable_max`, even if more are archived.
  struct Progress {
    Sequence head = 0;
    Sequence submitted = 0;
    Sequence archived = 0;
    Sequence covered = 0;
    Sequence provable_max = kSequenceMax;

    // What a sync that begins now covers.
    Sequence provable() const { return archived < provable_max ? archived : provable_max; }
  };

  void request_flush(Sequence through);
  void observe(const Progress& progress, std::uint64_t now_ns);
  bool partial_due(const Progress& progress, std::uint64_t now_ns) const;
  bool sync_due(const Progress& progress, std::uint64_t now_ns) const;
  // Notes that a sync of everything provable has begun.
  void begun(const Progress& progress, std::uint64_t now_ns);
  // The next time at which something becomes due without other progress. UINT64_MAX: never.
  std::uint64_t next_ns(const Progress& progress, std::uint64_t now_ns) const;

 private:
  bool interval_passed(std::uint64_t now_ns) const { return now_ns >= due_ns_; }

  JournalGeometry geometry_;
  std::uint64_t interval_ns_;
  Sequence flush_through_ = 0;
  Sequence head_ = 0;
  std::uint64_t moved_ns_ = 0;         // when head last moved
  std::uint64_t due_ns_ = UINT64_MAX;  // of the interval's sync; UINT64_MAX: none
  Sequence due_head_ = kNoSequence;    // head when it became due
};

}  // namespace lapwing
