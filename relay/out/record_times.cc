#include "relay/out/record_times.h"

#include <algorithm>
#include <span>

#include "snapshot/journal/journal_files.h"
#include "snapshot/journal/time_index.h"

namespace lapwing {

std::optional<std::uint64_t> RecordTimes::time_of(const SessionBegin& session, Sequence n) {
  const std::uint64_t segment = (n - 1) / session.segment_slots;
  const bool is_loaded = journal_id_ == session.journal_id && segment_ == segment;
  if (!is_loaded || entries_.empty() || entries_.back().sequence < n) load(session, segment);
  const auto found =
      std::lower_bound(entries_.begin(), entries_.end(), n,
                       [](const TimeEntry& entry, Sequence at) { return entry.sequence < at; });
  if (found == entries_.end()) return std::nullopt;
  return found->wall_ns;
}

// An index that cannot be read is an empty one, because it is a hint.
void RecordTimes::load(const SessionBegin& session, std::uint64_t segment) {
  const JournalFiles files = journal_files_of(disk_, root_, session);
  const bool is_same = journal_id_ == session.journal_id && segment_ == segment;
  const auto file = open_file(disk_, files.path(segment, "idx"), {OpenMode::kRead});
  const auto size = file.ok() ? disk_.size(file->get()) : file.status();
  const std::uint64_t bytes =
      size.ok() ? std::min(*size / sizeof(TimeEntry), index_entries_max(files.geometry)) *
                      sizeof(TimeEntry)
                : 0;
  if (is_same && bytes == bytes_) return;
  journal_id_ = session.journal_id;
  segment_ = segment;
  bytes_ = bytes;
  entries_.resize(bytes / sizeof(TimeEntry));
  if (bytes == 0) return;
  const auto read = disk_.read_at(file->get(), 0, std::as_writable_bytes(std::span(entries_)));
  entries_.resize(read.ok() ? *read / sizeof(TimeEntry) : 0);
  std::erase_if(entries_, [&](const TimeEntry& entry) {
    return !time_entry_valid(session.journal_id, entry);
  });
}

}  // namespace lapwing
