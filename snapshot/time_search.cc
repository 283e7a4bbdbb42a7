#include "snapshot/time_search.h"

#include <optional>
#include <span>

#include "proto/error.h"
#include "snapshot/time_index.h"

namespace lapwing {
namespace {

// The index of one segment; empty if it has none.
class IndexFile {
 public:
  static absl::StatusOr<IndexFile> open(const JournalFiles& files, std::uint64_t segment) {
    IndexFile index(files);
    const auto file = files.disk->open(files.path(segment, "idx"), {OpenMode::kRead});
    if (errc_of(file.status()) == Errc::kNotFound) return index;
    if (!file.ok()) return file.status();
    index.file_ = OpenFile(*files.disk, *file);
    const auto bytes = files.disk->size(*file);
    if (!bytes.ok()) return bytes.status();
    index.count_ = *bytes / sizeof(TimeEntry);
    return index;
  }

  std::uint64_t count() const { return count_; }

  // Nothing if the entry does not check or cannot be read: the index is a hint.
  std::optional<TimeEntry> entry(std::uint64_t i) const {
    TimeEntry entry{};
    const auto read = files_->disk->read_at(file_.get(), i * sizeof(TimeEntry),
                                            std::as_writable_bytes(std::span(&entry, 1)));
    if (!read.ok() || !time_entry_valid(files_->journal_id, entry)) return std::nullopt;
    return entry;
  }

  std::optional<TimeEntry> first_entry() const {
    for (std::uint64_t i = 0; i < count_; ++i) {
      if (const auto valid = entry(i)) return valid;
    }
    return std::nullopt;
  }

 private:
  explicit IndexFile(const JournalFiles& files) : files_(&files) {}

  const JournalFiles* files_;
  OpenFile file_;
  std::uint64_t count_ = 0;
};

// The last of `count` things whose entry, as `entry_of(i)` gives it, is before wall_ns; the entries
// never decrease. Where there is no entry the nearest one below decides.
template <typename EntryOf>
absl::StatusOr<std::optional<std::uint64_t>> last_before(std::uint64_t count, std::uint64_t wall_ns,
                                                         EntryOf entry_of) {
  std::optional<std::uint64_t> best;
  std::uint64_t low = 0;  // what is below has been decided
  std::uint64_t high = count;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    std::uint64_t i = middle + 1;
    std::optional<TimeEntry> entry;
    while (i > low && !entry) {
      const auto found = entry_of(--i);
      if (!found.ok()) return found.status();
      entry = *found;
    }
    if (entry && entry->wall_ns >= wall_ns) {
      high = i;
      continue;
    }
    if (entry) best = i;
    low = middle + 1;
  }
  return best;
}

}  // namespace

absl::StatusOr<Sequence> search_time(const JournalFiles& files,
                                     const std::vector<std::uint64_t>& segments,
                                     std::uint64_t wall_ns) {
  using Found = absl::StatusOr<std::optional<TimeEntry>>;
  const auto segment = last_before(segments.size(), wall_ns, [&](std::uint64_t i) -> Found {
    const auto index = IndexFile::open(files, segments[i]);
    if (!index.ok()) return index.status();
    return index->first_entry();
  });
  if (!segment.ok()) return segment.status();
  if (!segment->has_value()) return kNoSequence;
  const auto index = IndexFile::open(files, segments[**segment]);
  if (!index.ok()) return index.status();
  const auto place = last_before(index->count(), wall_ns,
                                 [&](std::uint64_t i) -> Found { return index->entry(i); });
  if (!place.ok()) return place.status();
  if (!place->has_value()) return kNoSequence;
  const auto entry = index->entry(**place);
  return entry ? entry->sequence + 1 : kNoSequence;
}

}  // namespace lapwing
