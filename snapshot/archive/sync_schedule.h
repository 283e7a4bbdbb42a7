// Decides when a partial block is to be written and when a sync is to begin. Pure bookkeeping.
//
// A partial block is due for a flush, once the sync interval has passed, or after kIdlePartialNs
// without a new record. A sync is due for a flush, for a full segment, or once the interval has
// passed; the interval runs from the first record that no sync covers. A sync that is due waits
// until what head was then is archived, so that it covers the partial block written for it; but not
// longer than one more interval, so that a disk that lags behind still syncs.
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

  // Where the journal stands. `covered`: through the last sync that has begun.
  struct Progress {
    Sequence head = 0;
    Sequence submitted = 0;
    Sequence archived = 0;
    Sequence covered = 0;
  };

  void request_flush(Sequence through);
  void observe(const Progress& progress, std::uint64_t now_ns);
  bool partial_due(const Progress& progress, std::uint64_t now_ns) const;
  bool sync_due(const Progress& progress, std::uint64_t now_ns) const;
  // A sync of everything archived has begun.
  void begun(const Progress& progress, std::uint64_t now_ns);
  // When the passing of time alone makes something due that is not due now; UINT64_MAX: never.
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
