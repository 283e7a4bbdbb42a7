// The journals of a bus, read from their files.
//
// Thread safety: values and free functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lapwing/sequence.h"
#include "snapshot/journal/session_rules.h"

namespace lapwing {

// Segments on disk, including those prepared for future records.
struct JournalSize {
  std::uint64_t segments = 0;
  std::uint64_t bytes = 0;  // of disk space, excluding sums and time indexes
};

// A journal below the journal root.
struct JournalStatus {
  Id128 id;
  std::uint64_t sessions = 0;       // 0: `sessions` does not list it; only id and size are known
  Sequence oldest = kNoSequence;    // the oldest that is retained
  std::optional<Sequence> last;     // the last durable one; nullopt if a session is open
  std::optional<EndOfSession> end;  // how its last session ended
  bool is_discarded = false;        // another journal follows
  // Of a mirror: sequences that its origin does not have, without voids.
  std::optional<std::uint64_t> absent_records;
  JournalSize size;
};

// Totals for a bus's journals.
struct JournalFacts {
  bool is_kept = false;  // false: the bus has no journal, and all else is 0
  std::uint64_t sessions = 0;
  std::uint64_t void_records = 0;  // sequences without a record, after power cuts
  std::uint64_t size_bytes = 0;    // of all journals below the root
  std::uint64_t free_bytes = 0;    // of its file system
};

// Both return an empty list without a journal root. The oldest entry is first. Errors: those of
// SessionLog::open_read_only, kSystem.
absl::StatusOr<std::vector<SessionRecord>> read_sessions(const std::string& journal_root,
                                                         std::uint64_t bytes_max = UINT64_MAX);
// Opens each segment of every journal.
absl::StatusOr<std::vector<JournalStatus>> read_journals(
    const std::string& journal_root, const absl::StatusOr<std::vector<SessionRecord>>& sessions);
// Calls both functions above.
absl::StatusOr<JournalFacts> read_journal_facts(const std::string& journal_root,
                                                std::uint64_t sessions_bytes_max = UINT64_MAX);

// The total size of all journals.
JournalSize total_size(const std::vector<JournalStatus>& journals);

// "open" for a session that has not ended.
const char* name_of(const std::optional<EndOfSession>& end);

}  // namespace lapwing
