// Finds a position in the journal by wall-clock time, using the .idx files.
//
// Thread safety: no state; one thread at a time may use the Disk.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "lapwing/sequence.h"
#include "snapshot/journal/journal_files.h"

namespace lapwing {

// Returns a sequence below which every record was published before `wall_ns` (UTC); kNoSequence if
// the index has none. The segments are searched in order, up to the first that reaches wall_ns,
// because a clock may be set back between two sessions. If an entry is invalid or its file is
// missing, an earlier entry is used, so the result may be early, but never late.
absl::StatusOr<Sequence> search_time(const JournalFiles& files,
                                     const std::vector<std::uint64_t>& segments,
                                     std::uint64_t wall_ns);

}  // namespace lapwing
