// The state of a bus's journal, and how a start settled the previous session.
#pragma once

#include <cstdint>

#include "lapwing/detail/enum_names.h"

namespace lapwing {

enum class JournalState : std::uint32_t {
  kNone = 0,    // this bus has no journal
  kGood = 1,    // archiving
  kFailed = 2,  // a write or sync failed; durable is frozen, live records continue
  kShed = 3,    // OnJournalLag::kShed: the disk was too slow; durable is frozen
};

// Stable identifiers, shown by commands and in JSON.
inline constexpr detail::EnumName<JournalState> kJournalStateNames[] = {
    {JournalState::kNone, "none"},
    {JournalState::kGood, "good"},
    {JournalState::kFailed, "failed"},
    {JournalState::kShed, "shed"},
};
constexpr const char* name_of(JournalState state) {
  return detail::name_in(kJournalStateNames, state);
}

struct JournalCondition {
  JournalState state = JournalState::kNone;
  int sys_errno = 0;  // of a failed journal
};

// How a start settled the previous session (docs/explanation/durability.md).
enum class Settlement : std::uint32_t {
  kFresh = 1,      // there was no journal: a new journal id, sequence 1
  kContinued = 2,  // the last session had ended cleanly
  kRecovered = 3,  // killed: the missing records were in the ring file
  kCut = 4,        // power cut or no ring file: cut at durable, followed by a void
  kReset = 5,      // failed journal: a new journal id, sequence 1
};

}  // namespace lapwing
