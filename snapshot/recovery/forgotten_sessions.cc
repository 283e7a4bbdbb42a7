#include "snapshot/recovery/forgotten_sessions.h"

#include "absl/container/flat_hash_set.h"
#include "snapshot/dbn/kept_metadata.h"
#include "snapshot/journal/journal_files.h"
#include "snapshot/journal/kept_files.h"
#include "snapshot/journal/retention_file.h"
#include "snapshot/schema/kept_schemas.h"

namespace lapwing {
namespace {

// Returns the oldest sequence that the journal of `session` keeps, or kSequenceMax if no segment is
// left.
absl::StatusOr<Sequence> oldest_kept(Disk& disk, const std::string& journal_root,
                                     const SessionRecord& session) {
  const auto retained = list_retained(journal_files_of(disk, journal_root, session.begin));
  if (!retained.ok()) return retained.status();
  return retained->segments.empty() ? kSequenceMax : retained->oldest;
}

// Counts the oldest sessions that have no records left. The last session is never counted.
absl::StatusOr<std::size_t> count_empty(Disk& disk, const std::string& journal_root,
                                        const SessionLog& log) {
  const auto& sessions = log.sessions();
  Sequence oldest = 1;
  for (std::size_t i = 0; i + 1 < sessions.size(); ++i) {
    const SessionRecord& session = sessions[i];
    const bool is_new_journal =
        i == 0 || session.begin.journal_id != sessions[i - 1].begin.journal_id;
    if (is_new_journal) {
      const auto kept = oldest_kept(disk, journal_root, session);
      if (!kept.ok()) return kept.status();
      oldest = *kept;
    }
    if (!session.end || session.end->last + 1 >= oldest) return i;
  }
  return sessions.empty() ? 0 : sessions.size() - 1;
}

}  // namespace

absl::Status forget_empty_sessions(Disk& disk, const std::string& journal_root, SessionLog& log) {
  if (log.entry_count() - log.dropped() < kSessionRowsForgotten) return absl::OkStatus();
  const auto empty = count_empty(disk, journal_root, log);
  if (!empty.ok()) return empty.status();
  const std::uint64_t dropped = log.dropped();
  if (const absl::Status forgot = log.forget_before(*empty); !forgot.ok()) return forgot;
  if (log.dropped() == dropped) return absl::OkStatus();
  absl::flat_hash_set<std::uint64_t> schemas;
  absl::flat_hash_set<std::uint64_t> metadata;
  for (const SessionRecord& session : log.sessions()) {
    schemas.insert(session.begin.schema_hash);
    metadata.insert(session.begin.metadata_hash);
  }
  absl::Status removed = remove_unwanted_files(disk, journal_root, kKeptSchemas, schemas);
  if (removed.ok()) removed = remove_unwanted_files(disk, journal_root, kKeptMetadata, metadata);
  return removed;
}

}  // namespace lapwing
