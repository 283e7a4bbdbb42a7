#include "relay/out/session_rows.h"

#include <algorithm>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "snapshot/journal/relay_session.h"

namespace lapwing {

absl::StatusOr<SessionRows> SessionRows::open(const std::string& journal_root) {
  auto disk = std::make_unique<PosixDisk>();
  disk->anchor(journal_root);
  absl::StatusOr<SessionLog> log = SessionLog::open_read_only(*disk, journal_root);
  if (!log.ok()) return log.status();
  if (log->sessions().empty()) {
    return make_error(Errc::kNoJournal,
                      absl::StrCat("the journal in ", journal_root,
                                   " has no session yet. Start the publisher first."));
  }
  return SessionRows(std::move(disk), *std::move(log));
}

RelaySession SessionRows::row(std::size_t i) const {
  const SessionRecord& session = log_.sessions()[i];
  RelaySession row = relay_session(session);
  row.begin_row = session.row_index;
  row.begin_hash = session.row_hash;
  if (!session.end) return row;
  row.end_row = session.end_row_index;
  row.end_hash = session.end_row_hash;
  return row;
}

SessionRowMark SessionRows::newest() const {
  const SessionRecord& last = log_.sessions().back();
  if (last.end) return {last.end_row_index, last.end_row_hash};
  return {last.row_index, last.row_hash};
}

std::optional<std::size_t> SessionRows::position_of(const Id128& session_id) const {
  const SessionRecord* const found = log_.find(session_id);
  if (found == nullptr) return std::nullopt;
  return static_cast<std::size_t>(found - log_.sessions().data());
}

std::optional<std::size_t> SessionRows::session_at(const Id128& journal_id, Sequence n) const {
  const std::span<const SessionRecord> sessions = log_.sessions_of(journal_id);
  const auto after =
      std::upper_bound(sessions.begin(), sessions.end(), n,
                       [](Sequence at, const SessionRecord& s) { return at < s.first(); });
  if (after == sessions.begin()) return std::nullopt;
  const SessionRecord& found = *std::prev(after);
  if (found.end && n >= found.end->next()) return std::nullopt;
  return position_of(found.begin.session_id);
}

RelayOrigin SessionRows::origin_of(std::size_t i) const {
  const SessionBegin& begin = log_.sessions()[i].begin;
  RelayOrigin origin;
  origin.journal_id = begin.journal_id;
  origin.session_id = begin.session_id;
  origin.record_bytes = begin.record_bytes;
  origin.schema_hash = begin.schema_hash;
  const SessionRowMark mark = newest();
  origin.session_row = mark.index;
  origin.session_hash = mark.hash;
  return origin;
}

}  // namespace lapwing
