#include "snapshot/checkpoint/checkpoint_judge.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"

namespace lapwing {
namespace {

absl::Status refused(const std::string& why) {
  return make_error(Errc::kReset, why);
}

}  // namespace

absl::Status judge_position(const CheckpointIdentity& position,
                            const std::vector<SessionRecord>& sessions, const Id128& journal_id,
                            Sequence durable) {
  if (position.journal_id != journal_id) {
    return refused(absl::StrCat("is of journal ", position.journal_id.hex(),
                                ", and this bus keeps ", journal_id.hex(),
                                ": of another bus, or from before a reset"));
  }
  const auto session =
      std::find_if(sessions.begin(), sessions.end(), [&](const SessionRecord& candidate) {
        return candidate.begin.journal_id == journal_id &&
               candidate.begin.session_id == position.session_id;
      });
  if (session == sessions.end()) {
    return refused(absl::StrCat("is of session ", position.session_id.hex(),
                                ", which this journal does not list"));
  }
  if (position.sequence < session->first()) {
    return refused(absl::StrCat("is as of ", position.sequence, ", before its session's first, ",
                                session->first()));
  }
  if (session->end && position.sequence > session->end->last) {
    return refused(absl::StrCat("is as of ", position.sequence, ", beyond its session's end, ",
                                session->end->last));
  }
  if (position.sequence > durable) {
    return refused(absl::StrCat("is as of ", position.sequence,
                                ", newer than the journal, which is durable up to ", durable));
  }
  return absl::OkStatus();
}

CheckpointJudge make_checkpoint_judge(const SessionLog& sessions, const Id128& journal_id,
                                      Sequence durable) {
  // Copies only the sessions, because a log holds open files.
  return [sessions = sessions.sessions(), journal_id, durable](const CheckpointHeader& header) {
    return judge_position({header.journal_id, header.session_id, header.sequence}, sessions,
                          journal_id, durable);
  };
}

}  // namespace lapwing
