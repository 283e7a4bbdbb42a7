// The ranges of a journal that have no records and never will: the voids in the ends of its sessions,
// and in a mirror the ranges of its file `absent`.
//
// If a range of `absent` overlaps a void, the void counts: the mirror stopped waiting for records, and
// then the origin lost them in a power cut. A range is cut at the end of its session, which may have become
// known later.
//
// Thread safety: free functions; read_absent_ranges() borrows the Disk.
#pragma once

#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "lapwing/sequence.h"
#include "snapshot/journal/absent_file.h"
#include "snapshot/journal/journal_files.h"
#include "snapshot/journal/session_log.h"

namespace lapwing {

// Adds the voids of the journal to `absent`. Both are ascending, and the result is.
std::vector<AbsentRange> with_voids(const SessionLog& sessions, const Id128& journal_id,
                                    std::span<const AbsentRange> absent);

// All ranges without records, ascending. Reads `absent` if the journal is that of a mirror, and uses
// its valid entries. Errors: those of inspect_absent().
absl::StatusOr<std::vector<AbsentRange>> read_absent_ranges(const SessionLog& sessions,
                                                            const JournalFiles& files);

// The range that contains n, or else the next one; nullptr if there is none. `ranges` are ascending.
const AbsentRange* range_from(std::span<const AbsentRange> ranges, Sequence n);

}  // namespace lapwing
