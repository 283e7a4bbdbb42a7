// Decides from a journal's sessions whether a checkpoint belongs to its history.
//
// Thread safety: pure functions; a judge is immutable and may be used by several threads.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "lapwing/sequence.h"
#include "snapshot/checkpoint/checkpoint_directory.h"
#include "snapshot/journal/session_log.h"

namespace lapwing {

// Ok if `position` is a record of journal `journal_id` according to `sessions`, at or below
// `durable`. Otherwise kReset, with a reason that has no subject ("is of journal …"): another
// journal, a session that is not listed, outside that session, or beyond `durable`.
absl::Status judge_position(const CheckpointIdentity& position,
                            const std::vector<SessionRecord>& sessions, const Id128& journal_id,
                            Sequence durable);

// Uses the current content of the log, which need not outlive the judge.
CheckpointJudge make_checkpoint_judge(const SessionLog& sessions, const Id128& journal_id,
                                      Sequence durable);

}  // namespace lapwing
