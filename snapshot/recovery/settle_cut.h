// Cuts a journal after its durable end: the bytes beyond it are kept aside and zeroed in place.
//
// "<segment>.cut-<session id>" contains the segment's header, and its bytes at their original
// offsets. It is complete and synced before anything is zeroed. Segments that are completely beyond
// the end get that name, or are removed if they are blank. So no segment shrinks under a reader,
// and no segment is completely void. The kept part of the session is synced, because without the
// ring file it is unknown which part was already synced.
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

// What happens to the bytes beyond the cut. A mirror, whose origin has them, discards them.
enum class Beyond { kKeepAside, kDiscard };

struct Cut {
  Sequence session_first = 1;
  Sequence durable = 0;       // the session's last durable sequence; session_first - 1: none
  Sequence last_present = 0;  // the journal's newest record at or below durable; 0: none
  Id128 session_id;
  Beyond beyond = Beyond::kKeepAside;
};

// Cuts the journal. After a kill at any point, running it again completes the cut. Adds the files
// that were kept aside to `log`.
absl::Status cut_journal(const JournalFiles& files, const Cut& cut, std::vector<LogEntry>& log);

}  // namespace lapwing
