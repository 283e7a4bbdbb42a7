// For `lapwing repair`: reconstructs a journal whose entries in `sessions` are lost, using its
// segments.
//
// The segments contain the journal's id, sizes and schema, and their sums prove how far it
// was durable. They do not contain the bounds of sessions, the voids, the position of the
// feed, or which written records were not durable. So each journal becomes one failed
// session: readers get every intact record, with gaps whose cause is `damaged` for the rest,
// and the journal is never continued.
//
// Thread safety: no state; one thread at a time may use the Disk.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/sequence.h"
#include "os/io.h"
#include "proto/schema_label.h"
#include "snapshot/journal/journal_geometry.h"
#include "snapshot/journal/session_log.h"

namespace lapwing {

struct UnlistedJournal {
  Id128 journal_id;
  std::string directory;
  JournalGeometry geometry;
  SchemaLabel schema;                 // of its newest segment
  std::uint64_t created_wall_ns = 0;  // of its oldest segment
  std::uint64_t segments = 0;
  Sequence oldest = 1;   // of the existing segments
  Sequence proven = 0;   // the newest covered by a sum; 0: none
  Sequence through = 0;  // end of the last segment; no later sequence was ever used
};

struct UnlistedJournals {
  std::vector<UnlistedJournal> journals;  // oldest first
  std::vector<std::string> left_aside;    // a line with the reason for each skipped directory
};

// Finds the journals below `journal_root` that have segments but are not in `log`. Errors: those of
// the disk only.
absl::StatusOr<UnlistedJournals> find_unlisted_journals(Disk& disk, const std::string& journal_root,
                                                        const SessionLog& log);

// Appends the session for such a journal. The session before it must have an end.
absl::Status append_failed_session(SessionLog& log, const UnlistedJournal& journal,
                                   const Id128& session_id, const Id128& boot_id);

}  // namespace lapwing
