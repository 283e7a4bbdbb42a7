#include "snapshot/journal/time_search.h"

#include <algorithm>
#include <optional>
#include <span>

#include "lapwing/error.h"
#include "snapshot/journal/time_index.h"

namespace lapwing {
namespace {

// nullopt if the entry is invalid or cannot be read, because the index is only a hint.
std::optional<TimeEntry> entry_at(const JournalFiles& files, const OpenFile& index,
                                  std::uint64_t i) {
  TimeEntry entry{};
  const auto read = files.disk->read_at(index.get(), i * sizeof(TimeEntry),
                                        std::as_writable_bytes(std::span(&entry, 1)));
  if (!read.ok() || !time_entry_valid(files.journal_id, entry)) return std::nullopt;
  return entry;
}

// Returns the last of the index's `count` entries that is before wall_ns. Their times never
// decrease. If an entry is invalid, the nearest valid one below it is used.
std::optional<TimeEntry> last_before(const JournalFiles& files, const OpenFile& index,
                                     std::uint64_t count, std::uint64_t wall_ns) {
  std::optional<TimeEntry> best;
  std::uint64_t low = 0;  // entries below are before wall_ns
  std::uint64_t high = count;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    std::uint64_t i = middle + 1;
    std::optional<TimeEntry> entry;
    while (i > low && !entry) entry = entry_at(files, index, --i);
    if (entry && entry->wall_ns >= wall_ns) {
      high = i;
      continue;
    }
    if (entry) best = entry;
    low = middle + 1;
  }
  return best;
}

// The result of searching one segment's index for wall_ns.
struct IndexAnswer {
  std::optional<TimeEntry> before;  // its last entry before wall_ns
  bool reaches = false;             // it has an entry at or after wall_ns
};

absl::StatusOr<IndexAnswer> ask_index(const JournalFiles& files, std::uint64_t segment,
                                      std::uint64_t wall_ns) {
  const auto opened = open_file(*files.disk, files.path(segment, "idx"), {OpenMode::kRead});
  if (errc_of(opened.status()) == Errc::kNotFound) return IndexAnswer{};
  if (!opened.ok()) return opened.status();
  const auto newest = newest_time_entry(*files.disk, opened->get(), files.journal_id);
  if (!newest.ok()) return newest.status();
  if (!newest->has_value() || (*newest)->wall_ns < wall_ns) return IndexAnswer{*newest, false};
  const auto bytes = files.disk->size(opened->get());
  if (!bytes.ok()) return bytes.status();
  const std::uint64_t count =
      std::min(*bytes / sizeof(TimeEntry), index_entries_max(files.geometry));
  return IndexAnswer{last_before(files, *opened, count, wall_ns), true};
}

}  // namespace

absl::StatusOr<Sequence> search_time(const JournalFiles& files,
                                     const std::vector<std::uint64_t>& segments,
                                     std::uint64_t wall_ns) {
  Sequence next = kNoSequence;
  for (const std::uint64_t segment : segments) {
    const auto answer = ask_index(files, segment, wall_ns);
    if (!answer.ok()) return answer.status();
    if (answer->before) next = answer->before->sequence + 1;
    if (answer->reaches) break;
  }
  return next;
}

}  // namespace lapwing
