// What a person asks for when a journal is damaged: heals what has a second copy, makes hints anew,
// and where records are damaged ends the journal, so that a publisher can begin a new one.
//
// Repair never invents a record and never deletes one. What is damaged stays where it is: readers
// get the rest of that journal, with gaps of cause `damaged`. In order:
//  1. An entry of `sessions` that is valid in neither copy: both files are kept aside as they are
//     ("sessions.damaged-<id>"), and the log goes back to the entry before it. Both files gone or
//     empty beside segments: the log begins anew. Journals that it then does not name get a session
//     from what their segments prove (snapshot/recovery/session_rebuild.h).
//  2. The copy of `sessions` that lags is healed from the other.
//  3. A directory, link or device that has the name of a journal file is renamed to
//     <name>.aside-<id>. Files of a wrong length get the right one: zeros are added, or bytes
//     behind the last slot are cut off. If the newest description of the records is missing, it is
//     taken from bus.json (recovery/obstacles.h).
//  4. Indexes that are missing or hold entries that do not check are written anew from those that
//     do.
//  5. If a publisher would refuse to start, and segments are missing at the front of the journal
//     that retention had not removed, they are recorded as removed: readers get a gap of cause
//     `pruned`.
//  6. If a publisher would refuse to start even so, or step 1 was needed, the journal's end becomes
//     `failed`: the next session begins a new journal id at sequence 1. Without that, sequences
//     could be given twice.
// Killed anywhere and run again it does the rest.
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
  Id128 fresh_id;            // random; names what is kept aside, and sessions after it
  RingOpener open_ring;      // as for settle()
  // What bus.json names: if that journal is rebuilt, its session is this one, so that readers of
  // the bus find it. Zero where nothing is named.
  Id128 bus_journal_id = {};
  Id128 bus_session_id = {};
  std::string bus_description = {};  // of the records; may be empty
};

struct RepairReport {
  std::vector<std::string> done;  // a line for each thing that was changed
  bool journal_ended = false;     // the next publisher begins a new journal
  VerifyReport remaining;         // what is damaged still, and what records are lost thereby
};

// The lock is the journal root's, or the bus's where the journal lies in its directory: no
// publisher runs. Errors: as verify_journal, and those of writing.
absl::StatusOr<RepairReport> repair_journal(Disk& disk, const ExclusiveLock& lock,
                                            const RepairRequest& request,
                                            const VerifyProgress& progress = nullptr);

}  // namespace lapwing
