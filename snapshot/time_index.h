// The .idx file: at each sync, how far the bus had got at which wall-clock time.
//
// A segment's index holds entries for its own sequences only, and its last one, once the segment is
// full and durable, is for the segment's last sequence. It is a hint and synced one sync late: after a
// power cut entries may be missing or damaged; whoever reads it skips what does not check.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "proto/identity.h"
#include "proto/journal_format.h"

namespace lapwing {

TimeEntry make_time_entry(const Id128& journal_id, Sequence sequence, std::uint64_t wall_ns);
bool time_entry_valid(const Id128& journal_id, const TimeEntry& entry);

}  // namespace lapwing
