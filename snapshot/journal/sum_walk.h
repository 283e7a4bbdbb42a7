// Determines up to which record the .sum files prove that a session is durable.
//
// Sums are written in order, after their data is synced. So a session is durable through its
// contiguous entries: whole blocks, then at most one partial block. Records after a break were
// written but never announced as durable (after a power cut, any part of them may remain).
//
// Thread safety: no state; one thread at a time may use the Disk.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "lapwing/sequence.h"
#include "snapshot/journal/absent_file.h"
#include "snapshot/journal/journal_damage.h"
#include "snapshot/journal/journal_files.h"
#include "snapshot/journal/retention_file.h"
#include "snapshot/journal/session_rules.h"

namespace lapwing {

struct SumWalk {
  Sequence durable = 0;  // first - 1 if no record is durable
  // The first damaged entry, or the first .sum file missing between others, up to durable or
  // directly after it. The walk continues after the damage, as readers do.
  std::optional<JournalDamage> damage;
};

// Walks the entries for the sequences first … through, which belong to one session and contain no
// void. Entries of segments below `segments.front()` are pruned. Errors: those of the disk only.
absl::StatusOr<SumWalk> walk_sums(const JournalFiles& files,
                                  const std::vector<std::uint64_t>& segments, Sequence first,
                                  Sequence through);

// Walks the entries of a session without an end, up to its reservation. In a mirror, the walk begins
// behind the last range of `absent`, since a range is only recorded when everything before it is
// durable. It ends at the first missing segment, because a mirror fetches such records again. A .sum
// file that is missing beside its segment is damage.
// Errors: those of the disk only.
absl::StatusOr<SumWalk> walk_open_session(const JournalFiles& files,
                                          const RetainedSegments& retained,
                                          const SessionRecord& session,
                                          std::span<const AbsentRange> absent);

}  // namespace lapwing
