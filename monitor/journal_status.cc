#include "monitor/journal_status.h"

#include <algorithm>

#include "lapwing/error.h"
#include "os/path.h"
#include "os/posix_io.h"
#include "snapshot/journal/absent_file.h"
#include "snapshot/journal/journal_files.h"
#include "snapshot/journal/listed_journals.h"
#include "snapshot/journal/retention_file.h"
#include "snapshot/journal/session_log.h"

namespace lapwing {
namespace {

absl::StatusOr<JournalSize> size_of(Disk& disk, const JournalDirectory& journal) {
  JournalSize size;
  for (const std::uint64_t segment : journal.segments) {
    const absl::StatusOr<OpenFile> jnl =
        open_file(disk, numbered_path(journal.path, segment, "jnl"), {});
    if (errc_of(jnl.status()) == Errc::kNotFound) continue;  // retention has just removed it
    if (!jnl.ok()) return jnl.status();
    const absl::StatusOr<std::uint64_t> bytes = disk.allocated_bytes(jnl->get());
    if (!bytes.ok()) return bytes.status();
    ++size.segments;
    size.bytes += *bytes;
  }
  return size;
}

// nullopt if the journal is not that of a mirror.
absl::StatusOr<std::optional<std::uint64_t>> count_absent(const JournalFiles& files,
                                                          const SessionBegin& begin) {
  if (!begin.is_mirrored()) return std::nullopt;
  const absl::StatusOr<AbsentContents> absent = inspect_absent(files);
  if (!absent.ok()) return absent.status();
  std::uint64_t count = 0;
  for (const AbsentRange& range : absent->ranges) count += range.last - range.first + 1;
  return count;
}

// Returns the journals that `sessions` lists, without their sizes.
absl::StatusOr<std::vector<JournalStatus>> read_listed(Disk& disk, const std::string& journal_root,
                                                       const std::vector<SessionRecord>& sessions) {
  std::vector<JournalStatus> journals;
  for (const ListedJournal& listed : listed_journals(sessions)) {
    const SessionBegin& begin = listed.first.begin;
    const JournalFiles files = journal_files_of(disk, journal_root, begin);
    const absl::StatusOr<RetainedSegments> retained = list_retained(files);
    if (!retained.ok()) return retained.status();
    const absl::StatusOr<std::optional<std::uint64_t>> absent = count_absent(files, begin);
    if (!absent.ok()) return absent.status();
    if (!journals.empty()) journals.back().is_discarded = true;
    JournalStatus& journal = journals.emplace_back();
    journal.id = listed.id();
    journal.sessions = listed.sessions;
    journal.oldest = retained->oldest;
    journal.end = listed.last.end;
    journal.absent_records = *absent;
    if (journal.end) journal.last = journal.end->last;
  }
  return journals;
}

}  // namespace

absl::StatusOr<std::vector<SessionRecord>> read_sessions(const std::string& journal_root,
                                                         std::uint64_t bytes_max) {
  if (journal_root.empty()) return std::vector<SessionRecord>{};
  PosixDisk disk;
  const absl::StatusOr<SessionLog> log = SessionLog::open_read_only(disk, journal_root, bytes_max);
  if (!log.ok()) return log.status();
  return log->sessions();
}

absl::StatusOr<std::vector<JournalStatus>> read_journals(
    const std::string& journal_root, const absl::StatusOr<std::vector<SessionRecord>>& sessions) {
  if (!sessions.ok()) return sessions.status();
  if (journal_root.empty()) return std::vector<JournalStatus>{};
  PosixDisk disk;
  absl::StatusOr<std::vector<JournalStatus>> journals = read_listed(disk, journal_root, *sessions);
  if (!journals.ok()) return journals;
  const absl::StatusOr<std::vector<JournalDirectory>> directories =
      list_journals(disk, journal_root);
  if (!directories.ok()) return directories.status();
  for (const JournalDirectory& directory : *directories) {
    const absl::StatusOr<JournalSize> size = size_of(disk, directory);
    if (!size.ok()) return size.status();
    auto journal = std::ranges::find(*journals, directory.journal_id, &JournalStatus::id);
    if (journal == journals->end()) {
      journal = journals->emplace(journals->begin());
      journal->id = directory.journal_id;
    }
    journal->size = *size;
  }
  return journals;
}

absl::StatusOr<JournalFacts> read_journal_facts(const std::string& journal_root,
                                                std::uint64_t sessions_bytes_max) {
  if (journal_root.empty()) return JournalFacts{};
  const absl::StatusOr<std::vector<SessionRecord>> sessions =
      read_sessions(journal_root, sessions_bytes_max);
  const absl::StatusOr<std::vector<JournalStatus>> journals = read_journals(journal_root, sessions);
  if (!journals.ok()) return journals.status();
  PosixDisk disk;
  const absl::StatusOr<std::uint64_t> free = disk.free_bytes(journal_root);
  if (!free.ok()) return free.status();
  JournalFacts facts{.is_kept = true,
                     .sessions = sessions->size(),
                     .void_records = 0,
                     .size_bytes = total_size(*journals).bytes,
                     .free_bytes = *free};
  for (const SessionRecord& session : *sessions) {
    // A new journal's sequences begin at 1 again.
    if (!session.end || session.begin.journal_id != sessions->back().begin.journal_id) continue;
    if (session.end->void_first == 0) continue;
    facts.void_records += session.end->void_last - session.end->void_first + 1;
  }
  return facts;
}

JournalSize total_size(const std::vector<JournalStatus>& journals) {
  JournalSize total;
  for (const JournalStatus& journal : journals) {
    total.segments += journal.size.segments;
    total.bytes += journal.size.bytes;
  }
  return total;
}

const char* name_of(const std::optional<EndOfSession>& end) {
  return end ? name_of(end->how) : "open";
}

}  // namespace lapwing
