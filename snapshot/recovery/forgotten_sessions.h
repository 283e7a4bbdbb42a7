// Drops from `sessions` the oldest sessions that retention has left without a record, and the
// descriptions and metadata that only they had. A start does this once its past is settled.
//
// Thread safety: one thread; the caller holds the publisher's lock.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "os/io.h"
#include "snapshot/journal/session_log.h"

namespace lapwing {

// A session is dropped if its journal keeps nothing at or below the sequence after its last record,
// and if every older session is dropped too. So a stored position in it has lost records in any case.
// Does nothing while fewer than kSessionRowsForgotten rows would go. Errors: those of the disk.
absl::Status forget_empty_sessions(Disk& disk, const std::string& journal_root,
                                   SessionLog& sessions);

}  // namespace lapwing
