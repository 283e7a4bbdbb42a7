// How far the .sum files prove a session durable.
//
// Sums are written after their data is synced, in order; so a session is durable as far as its
// entries go without a break: whole blocks, then at most one that is part full. What comes after a
// break was written but never announced as durable (a power cut may keep any part of it).
//
// Thread safety: one thread at a time per Disk call; no state.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "lapwing/sequence.h"
#include "snapshot/journal/journal_damage.h"
#include "snapshot/journal/journal_files.h"

namespace lapwing {

struct SumWalk {
  Sequence durable = 0;  // first - 1 if nothing is
  // The first entry that is damaged, or .sum file that is missing between others, up to durable or
  // directly after it. The walk goes on behind it, for readers who do the
  // same.
  std::optional<JournalDamage> damage;
};

// Walks the entries of the sequences first … through: a session's, which holds no void. Entries of
// segments below `segments.front()` are pruned. Errors: of the disk only.
absl::StatusOr<SumWalk> walk_sums(const JournalFiles& files,
                                  const std::vector<std::uint64_t>& segments, Sequence first,
                                  Sequence through);

}  // namespace lapwing
