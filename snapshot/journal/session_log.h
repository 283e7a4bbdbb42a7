// journal/sessions and its copy: every session's begin, reservations and end.
//
// An entry is written to the first file and synced, and then written to the copy and synced.
// Each entry is read from a copy in which it is valid. An entry that is valid in neither is
// damaged, unless both copies are empty from there on, which marks the end. Readers
// (open_read_only) write nothing. A writer (open) first repairs the copy that lags behind, and
// syncs both. The files grow in advance: even on a full disk there is room for some reservations,
// and always for an end. SessionFiles (session_files.h) locks, writes, syncs and grows the files.
//
// Shortening: forget_before() drops the rows of sessions that have no records left. Row 0 becomes a
// kShortened row, with the index of the first valid row and the hash of the row before it. Then the
// space in between is released. Every other row keeps its offset, so readers that have the files
// open are not affected. If only one copy was shortened, that copy is used.
//
// The log of a mirror has rows of version 3, which repeat those of the origin by value. It has no
// reservations, and its first session may begin at any sequence. An ordinary publisher refuses it.
//
// A journal root that has segments, but no log or an empty one, is damaged, not new: it is unknown
// which sequences were used. `lapwing repair` rebuilds the log.
//
// Invariants
//  1. Every reported session is valid in at least one copy and obeys session_rules.h.
//  2. After open() and after each append(), both copies contain every entry, synced.
//  3. The first failed write or sync is final: every later append fails with the same status.
//
// Thread safety: one thread. Borrows the Disk.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "os/file_lock.h"
#include "os/io.h"
#include "proto/journal_format.h"
#include "snapshot/journal/session_files.h"
#include "snapshot/journal/session_rules.h"

namespace lapwing {

inline constexpr std::uint64_t kSessionEntriesAhead = 64;  // entries to reserve room for
inline constexpr std::uint64_t kSessionEntriesMax = std::uint64_t{1} << 22;  // without dropped ones
inline constexpr std::uint64_t kSessionRowsForgotten = 1024;  // the minimum to drop at a time
// A reader may find an entry half written by a running publisher. It counts as damage if it is
// still invalid after this many re-reads.
inline constexpr int kSessionRereads = 3;

// An entry that is valid only in the other copy.
struct SessionCopyDefect {
  std::size_t copy = 0;  // 0: sessions, 1: sessions.copy
  std::uint64_t index = 0;
  bool missing = false;  // true: empty; false: invalid
};

class SessionLog {
 public:
  // `directory` contains `sessions`. Creates the files if they are missing. Use another `name` for
  // a log that will replace this one. Errors: kInUse if another process is still writing it after
  // lock_retry_ns, or if it is the log of a mirror. Nothing is changed then. kDamaged with file,
  // entry and offset; kNoSpace, kNotPermitted, kSystem.
  static absl::StatusOr<SessionLog> open(Disk& disk, const std::string& directory,
                                         const std::string& name = kSessionsFileName,
                                         std::uint64_t lock_retry_ns = kLockRetryNs);
  // The same for a mirror's log. Its new rows have version 3. Errors: those of open(); kInUse if the
  // log belongs to an ordinary bus.
  static absl::StatusOr<SessionLog> open_mirror(Disk& disk, const std::string& directory,
                                                std::uint64_t lock_retry_ns = kLockRetryNs);
  // `bytes_max` applies to each of the two files. Errors: kNotFound if there are neither files nor
  // segments, kDamaged with file, entry and offset, kNotPermitted, kLimit (a file is larger than
  // bytes_max).
  static absl::StatusOr<SessionLog> open_read_only(Disk& disk, const std::string& directory,
                                                   std::uint64_t bytes_max = UINT64_MAX);

  // For `verify` and `repair`: reads the valid part before the first damage. `damage` is the error
  // that stopped it, or ok. Errors: those of open_read_only, except kDamaged.
  static absl::StatusOr<SessionLog> open_damaged(Disk& disk, const std::string& directory,
                                                 absl::Status& damage);

  const std::vector<SessionRecord>& sessions() const { return table_.sessions(); }
  const SessionRecord* last() const { return table_.last(); }
  // Null if it is not listed.
  const SessionRecord* find(const Id128& session_id) const { return table_.find(session_id); }
  // The journal's sessions; empty if it is not listed.
  std::span<const SessionRecord> sessions_of(const Id128& journal_id) const {
    return table_.sessions_of(journal_id);
  }
  // The path of the last session's ring file; empty if it no longer has one.
  const std::string& ring_path() const { return table_.ring_path(); }
  // Whether this is the log of a mirror. A mirror that was detached from its origin is not one.
  bool is_mirror() const { return table_.is_mirror(); }
  // kInUse if this is the log of a mirror: only the origin's publisher may change its history.
  absl::Status check_not_mirror() const;
  // Rows that were dropped at the front.
  std::uint64_t dropped() const { return first_row_; }

  // Reads the entries that any process has appended since the last read.
  absl::Status refresh();

  // Appends to both copies and syncs them. Index, version, hash and checksum are filled in here,
  // and wall_ns if it is 0. The rows of a new journal have version 2, or 3 in the log of a mirror,
  // unless `entry` has another. A session that continues a journal of version 1 gets rows of
  // version 1, without the later fields.
  // Returns kInvalidArgument for an entry that session_rules.h forbids.
  absl::Status append(SessionEntry entry);
  // Appends another log's sessions to this one, which must be empty, and syncs once. Version 1 rows
  // keep that version, and the copy of a shortened log is shortened as well.
  absl::Status copy_sessions(const SessionLog& from);
  // Drops the rows of the first `sessions` sessions, and syncs. At least one session is kept, and
  // the last session's journal must have version 2. Does nothing if fewer than
  // kSessionRowsForgotten rows would be dropped.
  absl::Status forget_before(std::size_t sessions);
  // For the last session, which must not have an end yet: reserves sequences up to `through`, or
  // ends the session after `last`, with a void up to `void_last` (0: none).
  absl::Status append_reservation(Sequence through);
  absl::Status append_end(SessionEnd how, Sequence last, Sequence void_last = 0, int sys_errno = 0);

  // True if n is in a recorded void of this journal. Sets the void's bounds.
  bool in_void(const Id128& journal_id, Sequence n, Sequence& first, Sequence& last) const;

  // The files that a writer has locked, for a caller that must hold the locks longer
  // (make_write_queue).
  std::vector<FileHandle> held_files() const { return files_.handles(); }
  // For a log opened for writing: the paths of its files that were removed or replaced.
  std::vector<std::string> lost_names() const { return files_.lost_names(); }

  // The number of entries read or written, including dropped ones. If an entry is damaged, this is
  // its index.
  std::uint64_t entry_count() const { return next_index_; }
  // The defects that open() repaired, or that a reader could ignore.
  const std::vector<SessionCopyDefect>& copy_defects() const { return copy_defects_; }

 private:
  static constexpr std::size_t kCopies = SessionFiles::kCopies;

  explicit SessionLog(SessionFiles files) : files_(std::move(files)) {}
  static absl::StatusOr<SessionLog> open_writer(SessionLog log, std::uint64_t lock_retry_ns);
  static absl::StatusOr<SessionLog> open_reader(SessionLog log, absl::Status& damage);
  absl::Status load();
  absl::Status load_front();
  absl::Status load_entries();
  absl::Status check_size(std::uint64_t bytes) const;
  absl::Status take(std::uint64_t index, const SessionEntry& in_first, const SessionEntry& in_copy,
                    bool& at_end);
  void take_row(const SessionEntry& entry);
  absl::Status check_origin() const;
  absl::Status heal();
  SessionEntry entry_of_last(SessionEntryKind kind) const;
  std::uint32_t version_for(const SessionEntry& entry) const;
  absl::Status check_rows(std::uint64_t rows) const;
  absl::Status append_sessions(const SessionLog& from);
  absl::Status write_front(std::uint64_t first_row, std::uint64_t dropped_hash,
                           std::uint32_t version);

  SessionFiles files_;
  SessionTable table_;
  std::vector<SessionCopyDefect> copy_defects_;
  std::uint64_t first_row_ = 0;  // index of the first valid row; above 0 in a shortened log
  std::uint64_t next_index_ = 0;
  std::uint64_t dropped_hash_ = 0;  // of the last dropped row
  std::uint64_t last_row_hash_ = 0;
  std::uint64_t bytes_max_ = UINT64_MAX;     // of each file
  std::uint32_t version_ = kSessionVersion;  // of new rows
  absl::Status failure_;
};

}  // namespace lapwing
