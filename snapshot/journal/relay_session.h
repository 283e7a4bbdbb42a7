// A listed session in the form in which a relay sends it to other hosts.
//
// Thread safety: pure functions.
#pragma once

#include "proto/relay_frames.h"
#include "snapshot/journal/session_rules.h"

namespace lapwing {

// The session's values and the times of its rows. The numbers and hashes of rows are 0: the caller
// sets them to those of the origin's `sessions`.
RelaySession relay_session(const SessionRecord& listed);

}  // namespace lapwing
