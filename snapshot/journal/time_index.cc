#include "snapshot/journal/time_index.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

namespace lapwing {
namespace {

std::uint64_t check_of(const Id128& journal_id, const TimeEntry& entry) {
  std::uint64_t seed;
  std::memcpy(&seed, journal_id.bytes.data(), sizeof seed);
  return XXH3_64bits_withSeed(&entry, offsetof(TimeEntry, check), seed);
}

}  // namespace

TimeEntry make_time_entry(const Id128& journal_id, Sequence sequence, std::uint64_t wall_ns) {
  TimeEntry entry{sequence, wall_ns, 0, 0};
  entry.check = check_of(journal_id, entry);
  return entry;
}

bool time_entry_valid(const Id128& journal_id, const TimeEntry& entry) {
  return entry.sequence != kNoSequence && entry.check == check_of(journal_id, entry);
}

absl::StatusOr<std::optional<TimeEntry>> newest_time_entry(Disk& disk, FileHandle index,
                                                           const Id128& journal_id) {
  const auto size = disk.size(index);
  if (!size.ok()) return size.status();
  const std::uint64_t count = *size / sizeof(TimeEntry);
  std::vector<TimeEntry> tail(std::min(count, kIndexTailEntries));
  const auto got = disk.read_at(index, (count - tail.size()) * sizeof(TimeEntry),
                                std::as_writable_bytes(std::span(tail)));
  if (!got.ok()) return got.status();
  for (auto entry = tail.rbegin(); entry != tail.rend(); ++entry) {
    if (time_entry_valid(journal_id, *entry)) return *entry;
  }
  return std::nullopt;
}

}  // namespace lapwing
