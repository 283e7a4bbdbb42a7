// What may follow what in journal/sessions: begin, reservations, end; one session after the other.
//
// Checked on every entry that is read and on every entry before it is written, so that a log which
// was appended to can always be read again.
//
// Thread safety: plain values and pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lapwing/sequence.h"
#include "proto/journal_format.h"

namespace lapwing {

// What the entries say of one session, folded.
struct SessionRecord {
  SessionEntry begin;
  Sequence reserved_through =
      0;  // 0: none was synced, so nothing was published beyond begin.first - 1
  std::optional<SessionEntry> end;

  Sequence first() const { return begin.first; }
};

// Why `next` cannot follow these sessions; empty if it can.
std::string session_entry_defect(const std::vector<SessionRecord>& sessions,
                                 const SessionEntry& next);

// Why no journal can have the sizes in this begin entry; empty if one can.
std::string session_geometry_defect(const SessionEntry& begin);

// Adds an entry without a defect.
void fold_session_entry(std::vector<SessionRecord>& sessions, const SessionEntry& entry);

}  // namespace lapwing
