// journal/sessions and its copy: every session's begin, reservations and end.
//
// An entry is written to the first file, synced, then to the copy, synced. Reading takes an entry
// from whichever copy is valid; one valid in neither is damage, unless neither holds anything
// there: the end. Readers (open_read_only) write nothing; a writer (open) first repairs the copy
// that lags.
//
// Thread safety: one thread. Borrows the Disk.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/journal_format.h"
#include "snapshot/io.h"

namespace lapwing {

// What the entries say of one session, folded.
struct SessionRecord {
  SessionEntry begin;
  Sequence reserved_through = 0;  // 0: none was synced, so the session published nothing
  std::optional<SessionEntry> end;

  Sequence first() const { return begin.first; }
};

class SessionLog {
 public:
  // `directory` is the one that holds `sessions`. Creates the files if they are missing.
  static absl::StatusOr<SessionLog> open(Disk& disk, const std::string& directory);
  // Errors: kNotFound if there are none, kDamaged with file, entry and offset.
  static absl::StatusOr<SessionLog> open_read_only(Disk& disk, const std::string& directory);

  const std::vector<SessionRecord>& sessions() const { return sessions_; }
  const SessionRecord* last() const { return sessions_.empty() ? nullptr : &sessions_.back(); }
  const SessionRecord* find(const Id128& session_id) const;

  // Appends and syncs both copies; index, version, wall_ns and checksum are filled in here.
  absl::Status append(SessionEntry entry);

  // True for a sequence in a recorded void of this journal; sets the void's bounds.
  bool in_void(const Id128& journal_id, Sequence n, Sequence& first, Sequence& last) const;

 private:
  SessionLog(Disk& disk, std::string directory) : disk_(&disk), directory_(std::move(directory)) {}
  absl::Status load(bool repair);
  void fold(const SessionEntry& entry);

  Disk* disk_;
  std::string directory_;
  std::vector<SessionRecord> sessions_;
  std::uint64_t next_index_ = 0;
  OpenFile files_[2];
};

}  // namespace lapwing
