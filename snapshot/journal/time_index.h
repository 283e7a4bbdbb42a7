// The .idx file: at each sync, how far the bus had got at which wall-clock time.
//
// A segment's index holds entries for its own sequences only, and its last one, once the segment is
// full and durable, is for the segment's last sequence. It is a hint and synced one sync late:
// after a power cut entries may be missing or damaged; whoever reads it skips what does not check.
//
// Thread safety: pure functions, and one that reads through a Disk.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "lapwing/sequence.h"
#include "os/io.h"
#include "proto/journal_format.h"
#include "snapshot/journal/journal_geometry.h"

namespace lapwing {

TimeEntry make_time_entry(const Id128& journal_id, Sequence sequence, std::uint64_t wall_ns);
bool time_entry_valid(const Id128& journal_id, const TimeEntry& entry);

// A sync adds an entry for at least one record more. Whoever reads an index reads no more of it,
// whatever the file's size says.
inline std::uint64_t index_entries_max(const JournalGeometry& geometry) {
  return geometry.segment_slots;
}

// Entries looked at from the end of an index for its newest valid one.
inline constexpr std::uint64_t kIndexTailEntries = 128;

// The newest valid entry among the last kIndexTailEntries of an .idx file; nullopt if there is
// none.
absl::StatusOr<std::optional<TimeEntry>> newest_time_entry(Disk& disk, FileHandle index,
                                                           const Id128& journal_id);

}  // namespace lapwing
