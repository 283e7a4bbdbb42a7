#include "snapshot/journal/listed_journals.h"

#include "snapshot/journal/retention_file.h"

namespace lapwing {

// A journal's sessions are adjacent, because a discarded journal is never continued.
std::vector<ListedJournal> listed_journals(const std::vector<SessionRecord>& sessions) {
  std::vector<ListedJournal> journals;
  for (const SessionRecord& session : sessions) {
    if (journals.empty() || journals.back().id() != session.begin.journal_id) {
      journals.push_back({.first = session, .last = session});
    }
    journals.back().last = session;
    ++journals.back().sessions;
  }
  return journals;
}

absl::StatusOr<bool> holds_records(Disk& disk, const std::string& journal_root,
                                   const ListedJournal& journal) {
  const Sequence last = journal.last.end ? journal.last.end->last : kSequenceMax;
  if (last < journal.first.first()) return false;
  const JournalFiles files = journal_files_of(disk, journal_root, journal.first.begin);
  const absl::StatusOr<RetainedSegments> retained = list_retained(files);
  if (!retained.ok()) return retained.status();
  return !retained->segments.empty() &&
         files.geometry.segment_first(retained->segments.front()) <= last;
}

}  // namespace lapwing
