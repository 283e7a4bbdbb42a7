// Repairs a damaged journal for `lapwing repair`. It heals files that have a second copy, recreates
// hints, and ends the journal if records are damaged, so that a publisher can begin a new one.
//
// Repair never invents or deletes a record. Damaged files are kept: readers get the rest of the
// journal, with gaps whose cause is `damaged`. The steps are:
//  1. If an entry of `sessions` is valid in neither copy, both files are kept aside unchanged
//     ("sessions.damaged-<id>"), and the log is reset to the entry before it. If both files are
//     missing or empty although there are segments, a new log is begun. Each journal that the log
//     does not list then gets a session derived from its segments
//     (snapshot/recovery/session_rebuild.h).
//  2. If one copy of `sessions` lags behind, it is healed from the other.
//  3. A directory, link or device with the name of a journal file is renamed to
//     <name>.aside-<id>. File lengths are corrected: zeros are added, or bytes beyond the last slot
//     are removed. If the newest description of the records is missing, it is restored from
//     bus.json (recovery/obstacles.h).
//  4. Indexes that are missing or have invalid entries are rewritten from the valid entries.
//  5. If a publisher would refuse to start, and the segments missing at the front of
//     the journal were not removed by retention, they are recorded as removed. Readers
//     get a gap whose cause is `pruned`.
//  6. If a publisher would still refuse to start, or step 1 was needed, the journal's end becomes
//     `failed`, and the next session begins a new journal id at sequence 1. Otherwise sequences
//     could be used twice.
// After a kill at any point, running it again completes the repair.
//
// Thread safety: one thread. Borrows the Disk.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lapwing/sequence.h"
#include "os/exclusive_lock.h"
#include "os/io.h"
#include "snapshot/recovery/recovery.h"
#include "snapshot/recovery/verify.h"

namespace lapwing {

struct RepairRequest {
  std::string journal_root;  // directory with `sessions`
  Id128 boot_id;             // of this boot
  Id128 fresh_id;            // random; names the files kept aside, and the new sessions
  RingOpener open_ring;      // as for settle()
  // The journal and session in bus.json. If that journal is rebuilt, its session gets this session
  // id, so that the bus's readers find it. Zero if there is none.
  Id128 bus_journal_id = {};
  Id128 bus_session_id = {};
  std::string bus_description = {};  // of the records; may be empty
};

struct RepairReport {
  std::vector<std::string> done;  // a line for each change
  bool journal_ended = false;     // the next publisher begins a new journal
  VerifyReport remaining;         // the remaining damage, and the records lost to it
};

// `lock` is that of the journal root, or that of the bus if the journal is in its directory, so no
// publisher is running. Errors: kInUse if this is a mirror (nothing is changed); those of
// verify_journal, and those of writing.
absl::StatusOr<RepairReport> repair_journal(Disk& disk, const ExclusiveLock& lock,
                                            const RepairRequest& request,
                                            const VerifyProgress& progress = nullptr);

}  // namespace lapwing
