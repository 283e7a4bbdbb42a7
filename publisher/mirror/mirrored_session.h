// Converts between a session as its origin describes it and the rows of a mirror's `sessions`.
//
// Thread safety: pure functions.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "proto/relay_frames.h"
#include "snapshot/journal/session_rules.h"

namespace lapwing {

// The rows of a mirror, without what SessionLog::append fills in.
SessionEntry mirrored_begin(const RelaySession& session);
SessionEntry mirrored_end(const RelaySession& session);

// A session that the mirror lists, with the origin's row numbers and hashes and the times of the
// mirror's rows.
RelaySession mirrored_session(const SessionRecord& listed);

inline bool has_ended(const RelaySession& session) {
  return session.how != SessionEnd::kNone;
}
// The last sequence that the session uses, with its void; kSequenceMax while it is open.
Sequence last_used(const RelaySession& session);

// The error for a value of the origin that contradicts the mirror (MirrorWriter).
absl::Status contradiction(const Id128& session_id, const std::string& what);

}  // namespace lapwing
