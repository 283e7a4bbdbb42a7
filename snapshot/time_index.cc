#include "snapshot/time_index.h"

#include <xxhash.h>

#include <cstring>

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

}  // namespace lapwing
