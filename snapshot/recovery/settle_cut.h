// Cuts a journal after its durable end: the bytes beyond are kept aside and zeroed in place.
//
// "<segment>.cut-<session id>" has the segment's header, and its bytes where they were; it is whole
// and synced before anything is zeroed. Segments that lie wholly beyond the end are renamed to
// that, or removed if they are blank; none shrinks under a reader, and one that is wholly void does
// not exist. Whatever of the session is kept is synced: without its ring file nobody knows what
// already was.
//
// Thread safety: one thread; the caller holds the publisher's lock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "lapwing/log.h"
#include "lapwing/sequence.h"
#include "snapshot/journal/journal_files.h"

namespace lapwing {

struct Cut {
  Sequence session_first = 1;
  Sequence durable = 0;       // the session's last durable sequence; session_first - 1: none
  Sequence last_present = 0;  // the journal's newest record at or below durable; 0: none
  Id128 session_id;
};

// Cuts. Killed anywhere and run again it does the rest. Adds to `log` what was kept aside.
absl::Status cut_journal(const JournalFiles& files, const Cut& cut, std::vector<LogEntry>& log);

}  // namespace lapwing
