// The journals in a journal root, in the order in which they were begun.
//
// A publisher begins a new journal if the last one failed. All journals except the newest are
// discarded: nothing is added to them, and their files are kept until retention removes them.
//
// Thread safety: plain values and free functions.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "os/io.h"
#include "snapshot/journal/journal_files.h"
#include "snapshot/journal/session_rules.h"

namespace lapwing {

struct ListedJournal {
  SessionRecord first;  // its first session
  SessionRecord last;   // its last session; has an end if the journal is discarded
  std::uint64_t sessions = 0;

  const Id128& id() const { return first.begin.journal_id; }
};

// Lists the journals, oldest first. All `sessions` are from one journal root.
std::vector<ListedJournal> listed_journals(const std::vector<SessionRecord>& sessions);

// True if a discarded journal's files still contain records. Errors: those of the disk.
absl::StatusOr<bool> holds_records(Disk& disk, const std::string& journal_root,
                                   const ListedJournal& journal);

}  // namespace lapwing
