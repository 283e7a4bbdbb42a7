#include "relay/in/start_point.h"

#include <algorithm>

namespace lapwing {
namespace {

using Sessions = std::span<const RelaySession>;

std::size_t first_of_journal(Sessions sessions, std::size_t session) {
  while (session > 0 && sessions[session - 1].journal_id == sessions[session].journal_id) --session;
  return session;
}

// The segment of `sequence`, which lies in or behind this session, and the first session with
// records in that segment. Sessions of one journal have the same segments.
StartPoint segment_of(Sessions sessions, std::size_t session, Sequence sequence) {
  const Sequence oldest = segment_start(sequence, sessions[session].segment_slots);
  const std::size_t journal = first_of_journal(sessions, session);
  while (session > journal && sessions[session].first > oldest) --session;
  // A session that ended before the segment, and left a void up to it or into it.
  const bool has_ended = sessions[session].how != SessionEnd::kNone;
  const bool has_next = session + 1 < sessions.size() &&
                        sessions[session + 1].journal_id == sessions[session].journal_id;
  const bool is_before = sessions[session].first < oldest && sessions[session].last < oldest;
  if (has_ended && is_before && has_next) ++session;
  return {session, oldest};
}

std::size_t position_of(Sessions sessions, const Id128& session_id) {
  const auto found = std::find_if(sessions.begin(), sessions.end(), [&](const RelaySession& each) {
    return each.session_id == session_id;
  });
  return found == sessions.end() ? sessions.size() - 1
                                 : static_cast<std::size_t>(found - sessions.begin());
}

}  // namespace

StartPoint start_point(RelayStart start, Sessions sessions, Sequence oldest,
                       const RelayPosition& newest,
                       const std::optional<RelayPosition>& checkpoint) {
  if (start == RelayStart::kCheckpoint && checkpoint) {
    const std::size_t session = position_of(sessions, checkpoint->session_id);
    if (sessions[session].session_id == checkpoint->session_id) {
      return segment_of(sessions, session, checkpoint->sequence + 1);
    }
  }
  if (start == RelayStart::kLive) {
    const std::size_t session = position_of(sessions, newest.session_id);
    const bool is_of_session = sessions[session].session_id == newest.session_id;
    const Sequence next = is_of_session ? newest.sequence + 1 : kNoSequence;
    return segment_of(sessions, session, std::max(next, sessions[session].first));
  }
  const bool has_one_journal = first_of_journal(sessions, sessions.size() - 1) == 0;
  if (!has_one_journal || oldest <= sessions.front().first) {
    return segment_of(sessions, 0, sessions.front().first);
  }
  const auto after = std::upper_bound(
      sessions.begin(), sessions.end(), oldest,
      [](Sequence wanted, const RelaySession& each) { return wanted < each.first; });
  return segment_of(sessions, static_cast<std::size_t>(after - sessions.begin()) - 1, oldest);
}

}  // namespace lapwing
