// Settles what a killed mirror left: a kill and a power cut are one case.
//
// The journal keeps what its sums prove. Everything behind that is zeroed, without a copy, because
// the origin has it. The last session stays open: no end and no void is written.
//
// Thread safety: one thread; the caller holds the locks of the bus.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/log.h"
#include "lapwing/sequence.h"
#include "os/io.h"
#include "snapshot/journal/absent_file.h"
#include "snapshot/journal/session_log.h"

namespace lapwing {

// The newest journal of a mirror. Nothing is in the ring.
struct MirroredJournal {
  Sequence next = 0;                // the first sequence that it lacks; 0: there is no session
  Sequence oldest = 1;              // that retention keeps
  std::vector<AbsentRange> absent;  // ascending
};

// Computes this from files that no process is writing. Errors: those of the disk, and kDamaged for
// the file `absent`.
absl::StatusOr<MirroredJournal> look_at_mirror(Disk& disk, const std::string& journal_root,
                                               const SessionLog& sessions);

// Zeroes everything at and behind `next`. If the records before `next` in its block are damaged, it
// continues before them. After a kill at any point, running it again has the same result. Adds what
// was done to `log`. Errors: those of look_at_mirror(), kDamaged (the damaged records belong to an
// earlier session), kNoSpace.
absl::StatusOr<MirroredJournal> settle_mirror(Disk& disk, const std::string& journal_root,
                                              const SessionLog& sessions,
                                              std::vector<LogEntry>& log);

}  // namespace lapwing
