// Finds a place in the journal by wall-clock time, through the .idx files.
//
// Thread safety: one thread at a time per Disk call; no state.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "lapwing/sequence.h"
#include "snapshot/journal/journal_files.h"

namespace lapwing {

// A sequence below which every record was published before `wall_ns` (UTC); kNoSequence if the
// index knows of none. The segments are asked in order, since a clock may be set back between two
// sessions, up to the first that reaches wall_ns; that one is searched. Entries that do not check
// and files that are missing are passed over downwards, so the answer may be early, never late.
absl::StatusOr<Sequence> search_time(const JournalFiles& files,
                                     const std::vector<std::uint64_t>& segments,
                                     std::uint64_t wall_ns);

}  // namespace lapwing
