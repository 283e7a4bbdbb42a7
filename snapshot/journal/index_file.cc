#include "snapshot/journal/index_file.h"

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "lapwing/error.h"
#include "os/whole_file.h"
#include "snapshot/journal/time_index.h"

namespace lapwing {
namespace {

constexpr std::size_t kTimesPerRead = 2048;

struct IndexExtent {
  bool missing = false;
  std::uint64_t surplus = 0;  // unchecked entries beyond a segment's maximum
};

// Calls visit(entry, is_last) for every whole entry.
absl::StatusOr<IndexExtent> for_each_entry(
    const JournalFiles& files, std::uint64_t segment,
    const std::function<absl::Status(const TimeEntry& entry, bool is_last)>& visit) {
  const auto file = open_file(*files.disk, files.path(segment, "idx"), {OpenMode::kRead});
  const Errc code = errc_of(file.status());
  if (code == Errc::kNotFound || code == Errc::kNotALapwingFile)
    return IndexExtent{.missing = true};
  if (!file.ok()) return file.status();
  const auto size = files.disk->size(file->get());
  if (!size.ok()) return size.status();
  const std::uint64_t written = *size / sizeof(TimeEntry);
  const std::uint64_t count = std::min(written, index_entries_max(files.geometry));
  std::vector<TimeEntry> chunk(kTimesPerRead);
  for (std::uint64_t begin = 0; begin < count; begin += kTimesPerRead) {
    const auto read = files.disk->read_at(file->get(), begin * sizeof(TimeEntry),
                                          std::as_writable_bytes(std::span(chunk)));
    if (!read.ok()) return read.status();
    for (std::size_t i = 0; i < *read / sizeof(TimeEntry); ++i) {
      const absl::Status status = visit(chunk[i], begin + i + 1 == count);
      if (!status.ok()) return status;
    }
  }
  return IndexExtent{.surplus = written - count};
}

}  // namespace

absl::StatusOr<IndexState> inspect_index(const JournalFiles& files, std::uint64_t segment) {
  IndexState state;
  const auto extent = for_each_entry(files, segment, [&](const TimeEntry& entry, bool is_last) {
    if (time_entry_valid(files.journal_id, entry)) {
      ++state.entries;
    } else if (!is_last) {
      ++state.invalid;
    }
    return absl::OkStatus();
  });
  if (!extent.ok()) return extent.status();
  state.missing = extent->missing;
  state.invalid += extent->surplus;
  return state;
}

absl::Status rewrite_index(const JournalFiles& files, std::uint64_t segment) {
  Disk& disk = *files.disk;
  const std::string path = files.path(segment, "idx");
  const absl::StatusOr<OpenFile> file = create_unfinished(disk, path);
  if (!file.ok()) return file.status();
  std::uint64_t offset = 0;
  const absl::Status status = for_each_entry(files, segment, [&](const TimeEntry& entry, bool) {
                                if (!time_entry_valid(files.journal_id, entry))
                                  return absl::OkStatus();
                                const auto bytes = std::as_bytes(std::span(&entry, 1));
                                offset += bytes.size();
                                return disk.write_at(file->get(), offset - bytes.size(), bytes);
                              }).status();
  return status.ok() ? finish_file(disk, *file, path) : status;
}

}  // namespace lapwing
