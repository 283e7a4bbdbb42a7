#include "relay/in/origin_sessions.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "publisher/mirror/mirror.h"

namespace lapwing {
namespace {

std::uint64_t newest_row(const RelaySession& session) {
  return session.how == SessionEnd::kNone ? session.begin_row : session.end_row;
}
std::uint64_t newest_hash(const RelaySession& session) {
  return session.how == SessionEnd::kNone ? session.begin_hash : session.end_hash;
}

absl::Status foreign(const std::string& what) {
  return make_error(
      Errc::kReset,
      absl::StrCat(
          "foreign origin: ", what,
          ". The messages are of another history than this mirror's. Stop the wrong sender, "
          "or start the mirror again with --anew."));
}

// Empty if `newer` is the same session at a later time.
std::string change_of(const RelaySession& older, const RelaySession& newer) {
  std::string change = session_difference(older, newer);
  const bool is_opened = older.how != SessionEnd::kNone && newer.how == SessionEnd::kNone;
  if (change.empty() && is_opened) change = "it had ended and is open again";
  return change.empty() ? "" : absl::StrCat("session ", older.session_id.hex(), ": ", change);
}

}  // namespace

std::uint64_t OriginSessions::row() const {
  return list_.empty() ? 0 : newest_row(list_.back());
}

std::uint64_t OriginSessions::hash() const {
  return list_.empty() ? 0 : newest_hash(list_.back());
}

std::optional<std::size_t> OriginSessions::position(const Id128& session_id) const {
  // The newest one is wanted most often.
  for (std::size_t i = list_.size(); i-- > 0;) {
    if (list_[i].session_id == session_id) return i;
  }
  return std::nullopt;
}

SessionFit OriginSessions::fit(std::uint64_t row, std::uint64_t hash) const {
  if (list_.empty() || row > this->row()) return SessionFit::kNewer;
  auto after = std::upper_bound(
      list_.begin(), list_.end(), row,
      [](std::uint64_t wanted, const RelaySession& each) { return wanted < each.begin_row; });
  if (after == list_.begin()) return SessionFit::kUnknown;
  const RelaySession& session = *std::prev(after);
  const bool is_end = session.how != SessionEnd::kNone && row == session.end_row;
  if (!is_end && row != session.begin_row) return SessionFit::kUnknown;
  const std::uint64_t expected = is_end ? session.end_hash : session.begin_hash;
  return hash == expected ? SessionFit::kFits : SessionFit::kForeign;
}

absl::Status OriginSessions::replace(std::vector<RelaySession> list) {
  if (list.empty()) return foreign("it lists no session");
  const bool is_older = !list_.empty() && newest_row(list.back()) < row();
  const std::vector<RelaySession>& older = is_older ? list : list_;
  const std::vector<RelaySession>& newer = is_older ? list_ : list;
  for (const RelaySession& session : older) {
    if (session.begin_row < newer.front().begin_row) continue;
    const auto same = std::lower_bound(
        newer.begin(), newer.end(), session.begin_row,
        [](const RelaySession& each, std::uint64_t row) { return each.begin_row < row; });
    if (same == newer.end()) {
      return foreign(absl::StrCat("it does not list session ", session.session_id.hex()));
    }
    if (const std::string change = change_of(session, *same); !change.empty()) {
      return foreign(change);
    }
  }
  if (is_older) return absl::OkStatus();
  std::vector<RelaySession> dropped;
  for (const RelaySession& session : list_) {
    const bool is_before = session.begin_row < list.front().begin_row;
    if (is_before && session.how != SessionEnd::kNone) dropped.push_back(session);
  }
  list.insert(list.begin(), dropped.begin(), dropped.end());
  list_ = std::move(list);
  return absl::OkStatus();
}

bool OriginSessions::extend(std::span<const RelaySession> rows, std::uint64_t row,
                            std::uint64_t hash) {
  if (list_.empty() || rows.empty()) return false;
  if (newest_row(rows.back()) != row || newest_hash(rows.back()) != hash) return false;
  const auto ours = std::ranges::find_if(
      rows, [&](const RelaySession& each) { return each.begin_row == list_.back().begin_row; });
  if (ours == rows.end() || row < this->row()) return false;
  if (!change_of(list_.back(), *ours).empty()) return false;
  list_.pop_back();
  list_.insert(list_.end(), ours, rows.end());
  return true;
}

absl::StatusOr<std::size_t> OriginSessions::locate(std::span<const RelaySession> mirror) const {
  const std::optional<std::size_t> newest = position(mirror.back().session_id);
  if (!newest) {
    return foreign(absl::StrCat("it does not list session ", mirror.back().session_id.hex(),
                                ", which is the mirror's newest"));
  }
  for (std::size_t back = 0; back < mirror.size() && back <= *newest; ++back) {
    const RelaySession& ours = mirror[mirror.size() - 1 - back];
    const RelaySession& theirs = list_[*newest - back];
    if (const std::string difference = session_difference(ours, theirs); !difference.empty()) {
      return foreign(absl::StrCat("session ", ours.session_id.hex(), ": ", difference));
    }
    const bool only_we_ended = ours.how != SessionEnd::kNone && theirs.how == SessionEnd::kNone;
    if (only_we_ended) {
      return foreign(absl::StrCat("session ", ours.session_id.hex(),
                                  " has an end in the mirror and is open at the origin"));
    }
  }
  return *newest;
}

void SessionGathering::add(std::uint64_t first, std::span<const RelaySession> rows) {
  if (first > rows_.size()) return;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::size_t place = first + i;
    if (place == rows_.size()) {
      rows_.push_back(rows[i]);
    } else if (std::memcmp(&rows_[place], &rows[i], sizeof rows[i]) != 0) {
      restart();
      return;
    }
  }
}

std::optional<std::vector<RelaySession>> SessionGathering::take(std::uint64_t row,
                                                                std::uint64_t hash) {
  std::vector<RelaySession> rows = std::exchange(rows_, {});
  if (rows.empty() || newest_row(rows.back()) != row || newest_hash(rows.back()) != hash) {
    return std::nullopt;
  }
  // Rows of two answers do not go together if a session has ended in between.
  const auto is_open = [](const RelaySession& each) { return each.how == SessionEnd::kNone; };
  if (std::any_of(rows.begin(), std::prev(rows.end()), is_open)) return std::nullopt;
  return rows;
}

}  // namespace lapwing
