// What segments prove of a journal whose entries in `sessions` are lost, for `lapwing repair`.
//
// A journal's segments say its id, sizes and schema, and their sums how far it was durable. They do
// not say where one session ended and the next began, which sequences were voids, how far the feed
// had come, or what was written and not durable. So each journal becomes one session that has
// failed: readers get all that is sound, with gaps of cause `damaged` where nothing is, and nobody
// continues it.
//
// Thread safety: no state; one thread at a time per Disk call.
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
  Sequence oldest = 1;   // of the segments that are there
  Sequence proven = 0;   // the newest that a sum covers; 0: none
  Sequence through = 0;  // end of the last segment: no sequence beyond it was ever given
};

struct UnlistedJournals {
  std::vector<UnlistedJournal> journals;  // oldest first
  std::vector<std::string> left_aside;    // a line for each that cannot be one, with the reason
};

// The journals below `journal_root` that have segments and that `log` does not name. Errors: of the
// disk only.
absl::StatusOr<UnlistedJournals> find_unlisted_journals(Disk& disk, const std::string& journal_root,
                                                        const SessionLog& log);

// Appends the session of such a journal; the session before it has an end.
absl::Status append_failed_session(SessionLog& log, const UnlistedJournal& journal,
                                   const Id128& session_id, const Id128& boot_id);

}  // namespace lapwing
