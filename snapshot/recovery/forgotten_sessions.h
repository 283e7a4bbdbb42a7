// Removes the oldest sessions from `sessions` if retention has removed all their records, together
// with the descriptions and metadata that only they used. A start does this after it has settled
// the last session.
//
// Thread safety: one thread; the caller holds the publisher's lock.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "os/io.h"
#include "snapshot/journal/session_log.h"

namespace lapwing {

// A session is dropped if its journal keeps no record at or below the sequence after the session's
// last record, and every older session is dropped as well. So a position stored in a dropped
// session has lost records in any case. Does nothing if fewer than kSessionRowsForgotten rows would
// be dropped. Errors: those of the disk.
absl::Status forget_empty_sessions(Disk& disk, const std::string& journal_root,
                                   SessionLog& sessions);

}  // namespace lapwing
