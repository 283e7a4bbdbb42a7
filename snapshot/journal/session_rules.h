// The sessions in journal/sessions, and the valid row orders: a session is a begin, reservations
// and an end, and sessions follow one another.
//
// The rules are checked for every row when it is read and before it is written. So a
// log can always be read again after an append. Each check takes constant time.
//
// Thread safety: plain values; a SessionTable belongs to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "lapwing/sequence.h"
#include "proto/journal_format.h"

namespace lapwing {

// The ring path in a session's row if the ring no longer exists when the row is written.
inline constexpr char kFormerRing[] = "gone";

// A session's begin row as kept in memory, without its ring path, row hashes and reserved bytes.
// The fields are those of SessionEntry.
struct SessionBegin {
  SessionBegin() = default;
  SessionBegin(const SessionEntry& row);  // implicit: a begin row's contents

  std::uint32_t version = kSessionVersion;
  std::uint32_t slot_bytes = 0;
  std::uint32_t record_bytes = 0;
  Id128 journal_id;
  Id128 session_id;
  Id128 boot_id;
  std::uint64_t first = 0;
  std::uint64_t segment_slots = 0;
  std::uint64_t source_id = 0;
  std::uint64_t source_offset = 0;
  std::uint64_t wall_ns = 0;
  char schema[32] = {};
  std::uint64_t schema_hash = 0;
  std::uint64_t source_fingerprint = 0;  // 0 in version 1
  std::uint64_t metadata_hash = 0;       // 0 in version 1
  bool has_ring = false;  // it had a ring file; false in a mirror, and if `lapwing repair` made it
  std::uint64_t origin_row = 0;  // this and origin_hash: 0 except in version 3
  std::uint64_t origin_hash = 0;

  bool is_mirrored() const { return version == kMirrorSessionVersion; }

  SessionEntry row() const;  // without an existing ring file
};

// The end row of a session.
struct EndOfSession {
  EndOfSession() = default;
  EndOfSession(const SessionEntry& row);  // implicit: an end row's contents

  SessionEnd how = SessionEnd::kNone;
  std::uint32_t sys_errno = 0;
  std::uint64_t last = 0;
  std::uint64_t void_first = 0;
  std::uint64_t void_last = 0;
  std::uint64_t wall_ns = 0;
  std::uint64_t origin_row = 0;  // this and origin_hash: 0 except in version 3
  std::uint64_t origin_hash = 0;

  // The sequence after the session's last record and void.
  Sequence next() const { return (void_last != 0 ? void_last : last) + 1; }
};

// One session, combined from its rows.
struct SessionRecord {
  SessionBegin begin;
  // 0: no reservation was synced, so nothing was published. kSequenceMax in a mirror.
  Sequence reserved_through = 0;
  std::optional<EndOfSession> end;
  std::uint64_t row_index = 0;      // of the begin row
  std::uint64_t row_hash = 0;       // XXH3-64 of its 512 bytes
  std::uint64_t end_row_index = 0;  // and end_row_hash: 0 without an end
  std::uint64_t end_row_hash = 0;

  Sequence first() const { return begin.first; }
};

// Returns what is wrong with the sizes in this begin row; empty if nothing is.
std::string session_geometry_defect(const SessionBegin& begin);

class SessionTable {
 public:
  const std::vector<SessionRecord>& sessions() const { return sessions_; }
  const SessionRecord* last() const { return sessions_.empty() ? nullptr : &sessions_.back(); }
  // Null if the session is not listed.
  const SessionRecord* find(const Id128& session_id) const;
  // The journal's sessions, in order; empty if it is not listed.
  std::span<const SessionRecord> sessions_of(const Id128& journal_id) const;
  // The path of the last session's ring file; empty if it no longer has one.
  const std::string& ring_path() const { return ring_path_; }
  // Whether the log repeats the sessions of an origin: its last row has version 3 and is not an end
  // that the mirror wrote itself.
  bool is_mirror() const;

  // Returns why `row` cannot be the next one; empty if it can.
  std::string defect(const SessionEntry& row) const;
  // Adds a row without a defect. `hash`: XXH3-64 of its 512 bytes.
  void add(const SessionEntry& row, std::uint64_t hash);
  // Forgets everything. If the log was shortened, the next rows may begin in the middle of a
  // journal.
  void restart(bool was_shortened);
  // Forgets the first `count` sessions, but never all of them.
  void drop_front(std::size_t count);

 private:
  struct Span {
    std::size_t first = 0;  // positions in sessions_
    std::size_t last = 0;
  };
  std::string begin_defect(const SessionEntry& begin) const;
  std::string order_defect(const SessionEntry& begin) const;
  void enter(std::size_t position);

  std::vector<SessionRecord> sessions_;
  using Id = decltype(Id128::bytes);                // absl hashes arrays
  absl::flat_hash_map<Id, std::size_t> positions_;  // of the sessions in sessions_
  absl::flat_hash_map<Id, Span> journals_;
  std::string ring_path_;
  bool was_shortened_ = false;
};

}  // namespace lapwing
