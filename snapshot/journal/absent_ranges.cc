#include "snapshot/journal/absent_ranges.h"

#include <algorithm>
#include <iterator>

namespace lapwing {
namespace {

std::vector<AbsentRange> voids_of(const SessionLog& sessions, const Id128& journal_id) {
  std::vector<AbsentRange> voids;
  for (const SessionRecord& session : sessions.sessions_of(journal_id)) {
    if (!session.end || session.end->void_first == 0) continue;
    voids.push_back({session.end->void_first, session.end->void_last, GapCause::kVoid});
  }
  return voids;
}

// The last sequence of the session that n belongs to, with its void.
Sequence session_last(const SessionLog& sessions, const Id128& journal_id, Sequence n) {
  const auto of_journal = sessions.sessions_of(journal_id);
  const auto next = std::ranges::upper_bound(of_journal, n, {}, &SessionRecord::first);
  if (next == of_journal.begin() || !std::prev(next)->end) return kSequenceMax;
  return std::max(n, std::prev(next)->end->next() - 1);
}

}  // namespace

std::vector<AbsentRange> with_voids(const SessionLog& sessions, const Id128& journal_id,
                                    std::span<const AbsentRange> absent) {
  const std::vector<AbsentRange> voids = voids_of(sessions, journal_id);
  std::vector<AbsentRange> ranges;
  auto next_void = voids.begin();
  for (AbsentRange range : absent) {
    range.last = std::min(range.last, session_last(sessions, journal_id, range.first));
    if (!ranges.empty()) range.first = std::max(range.first, ranges.back().last + 1);
    for (; next_void != voids.end() && next_void->first <= range.last; ++next_void) {
      const Sequence before = std::min(range.last, next_void->first - 1);
      if (range.first <= before) ranges.push_back({range.first, before, range.cause});
      ranges.push_back(*next_void);
      range.first = std::max(range.first, next_void->last + 1);
    }
    if (range.first <= range.last) ranges.push_back(range);
  }
  ranges.insert(ranges.end(), next_void, voids.end());
  return ranges;
}

absl::StatusOr<std::vector<AbsentRange>> read_absent_ranges(const SessionLog& sessions,
                                                            const JournalFiles& files) {
  const auto of_journal = sessions.sessions_of(files.journal_id);
  if (of_journal.empty() || !of_journal.front().begin.is_mirrored()) {
    return with_voids(sessions, files.journal_id, {});
  }
  const auto absent = inspect_absent(files);
  if (!absent.ok()) return absent.status();
  return with_voids(sessions, files.journal_id, absent->ranges);
}

const AbsentRange* range_from(std::span<const AbsentRange> ranges, Sequence n) {
  const auto found = std::ranges::lower_bound(ranges, n, {}, &AbsentRange::last);
  return found == ranges.end() ? nullptr : &*found;
}

}  // namespace lapwing
