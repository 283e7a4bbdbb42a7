#include "snapshot/dbn/session_metadata.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "lapwing/error.h"
#include "os/posix_io.h"
#include "snapshot/bus_directory.h"
#include "snapshot/dbn/kept_metadata.h"
#include "snapshot/journal/session_log.h"

namespace lapwing {

absl::StatusOr<std::string> SessionMetadata::of(const Id128& session_id) {
  const absl::StatusOr<const Row*> row = find(session_id);
  if (!row.ok()) return row.status();
  if (*row == nullptr || !(*row)->names_metadata) return read_feed_metadata(bus_directory_);
  return read(**row);
}

absl::StatusOr<bool> SessionMetadata::is_later(
    const Id128& session_id, const std::function<bool(const std::string& metadata)>& is_true) {
  const absl::StatusOr<const Row*> found = find(session_id);
  if (!found.ok()) return found.status();
  if (*found == nullptr) return false;
  const Row& session = **found;
  absl::flat_hash_set<std::uint64_t> seen;
  for (auto row = rows_.rbegin(); &*row != &session; ++row) {
    if (!row->names_metadata) continue;
    if (!seen.insert(row->metadata_hash).second) continue;
    const absl::StatusOr<std::string> metadata = read(*row);
    if (!metadata.ok()) return metadata.status();
    if (is_true(*metadata)) return true;
  }
  return false;
}

absl::StatusOr<const SessionMetadata::Row*> SessionMetadata::find(const Id128& session_id) {
  if (session_id.is_zero()) return static_cast<const Row*>(nullptr);
  if (const Row* const row = find_in_list(session_id)) return row;
  if (absl::Status listed = read_list(); !listed.ok()) return listed;
  return find_in_list(session_id);
}

// The row is usually the last one requested, or the next one.
const SessionMetadata::Row* SessionMetadata::find_in_list(const Id128& session_id) {
  const auto begin = rows_.begin() + static_cast<std::ptrdiff_t>(std::min(found_, rows_.size()));
  auto row = std::ranges::find(begin, rows_.end(), session_id, &Row::session_id);
  if (row == rows_.end()) {
    row = std::ranges::find(rows_.begin(), begin, session_id, &Row::session_id);
    if (row == begin) return nullptr;  // in neither part
  }
  found_ = static_cast<std::size_t>(row - rows_.begin());
  return &*row;
}

absl::Status SessionMetadata::read_list() {
  rows_.clear();
  const absl::StatusOr<BusDescription> bus = read_bus_description(bus_directory_);
  if (errc_of(bus.status()) == Errc::kNoBus) return absl::OkStatus();
  if (!bus.ok()) return bus.status();
  journal_root_ = bus->journal_root;
  if (journal_root_.empty()) return absl::OkStatus();
  PosixDisk disk;
  const absl::StatusOr<SessionLog> log = SessionLog::open_read_only(disk, journal_root_);
  if (errc_of(log.status()) == Errc::kNotFound) return absl::OkStatus();
  if (!log.ok()) return log.status();
  rows_.reserve(log->sessions().size());
  for (const SessionRecord& session : log->sessions()) {
    const SessionBegin& begin = session.begin;
    rows_.push_back({begin.session_id, names_metadata(begin), begin.metadata_hash});
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> SessionMetadata::read(const Row& row) {
  if (row.metadata_hash != 0 && row.metadata_hash == read_hash_) return read_;
  if (row.metadata_hash == 0) return std::string();
  SessionBegin begin;
  begin.session_id = row.session_id;
  begin.metadata_hash = row.metadata_hash;
  PosixDisk disk;
  absl::StatusOr<std::string> metadata = read_kept_metadata(disk, journal_root_, begin);
  if (!metadata.ok()) return metadata;
  read_hash_ = row.metadata_hash;
  read_ = *metadata;
  return metadata;
}

}  // namespace lapwing
