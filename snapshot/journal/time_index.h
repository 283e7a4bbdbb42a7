// The .idx file: for each sync, the newest sequence and the wall-clock time.
//
// A segment's index has entries only for its own sequences. Once the segment is full and durable,
// the last entry is for the segment's last sequence. The index is a hint, and is synced one cycle
// late: after a power cut, entries may be missing or damaged. Readers skip invalid entries.
//
// Thread safety: pure functions, and one that reads from a Disk.
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

// Each sync that adds an entry covers at least one more record. Index readers read at most this
// many entries, whatever the file's size.
inline std::uint64_t index_entries_max(const JournalGeometry& geometry) {
  return geometry.segment_slots;
}

// How many entries are checked, from the end of an index, to find its newest valid one.
inline constexpr std::uint64_t kIndexTailEntries = 128;

// The newest valid entry among the last kIndexTailEntries of an .idx file; nullopt if there is
// none.
absl::StatusOr<std::optional<TimeEntry>> newest_time_entry(Disk& disk, FileHandle index,
                                                           const Id128& journal_id);

}  // namespace lapwing
