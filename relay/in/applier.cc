#include "relay/in/applier.h"

#include "absl/strings/str_cat.h"

namespace lapwing {
namespace {

Judgement refused(std::string reason) {
  return {MessageVerdict::kRefused, 0, std::move(reason)};
}

// Why records of this message cannot be of this session; empty if they can.
std::string misfit(const RelayHeader& header, const RelaySession& session) {
  if (header.journal_id != session.journal_id) {
    return absl::StrCat("its journal is ", header.journal_id.hex(), ", that of its session is ",
                        session.journal_id.hex());
  }
  if (header.record_bytes != session.record_bytes) {
    return absl::StrCat("its records have ", header.record_bytes, " bytes, those of its session ",
                        session.record_bytes);
  }
  if (header.schema_hash != session.schema_hash) return "its records have another description";
  if (header.session_row < session.begin_row) {
    return "its sender did not list its session yet";
  }
  const Sequence last = header.first + header.count - 1;
  if (header.first < session.first) {
    return absl::StrCat("it begins at sequence ", header.first, ", its session at ", session.first);
  }
  const bool has_limit = session.how != SessionEnd::kNone && !continues_unarchived(session);
  // A sender that did not know the end may have sent what the origin lost then.
  const bool knew_end = header.session_row >= session.end_row;
  if (has_limit && last > session.last && (knew_end || header.first > session.last)) {
    return absl::StrCat("it ends at sequence ", last, ", its session at ", session.last);
  }
  return "";
}

}  // namespace

bool continues_unarchived(const RelaySession& session) {
  return session.how == SessionEnd::kFailed;
}

Judgement judge(const RelayHeader& header, const OriginSessions& sessions,
                const MirrorPlace& place) {
  switch (sessions.fit(header.session_row, header.session_hash)) {
    case SessionFit::kFits:
      break;
    case SessionFit::kNewer:
      return {MessageVerdict::kSessions, 0, ""};
    case SessionFit::kUnknown:
      return refused(absl::StrCat("the session row ", header.session_row, " is not listed"));
    case SessionFit::kForeign:
      return refused(absl::StrCat("row ", header.session_row,
                                  " of its sender's sessions is another one: foreign"));
  }
  const std::optional<std::size_t> position = sessions.position(header.session_id);
  if (!position) {
    return refused(absl::StrCat("its session ", header.session_id.hex(), " is not listed"));
  }
  std::string defect = misfit(header, sessions.list()[*position]);
  if (!defect.empty()) return refused(std::move(defect));
  if (*position > place.session) return {MessageVerdict::kLater, *position, ""};
  if (*position < place.session) return {MessageVerdict::kEarlier, *position, ""};
  const bool is_ahead = header.first > place.next;
  return {is_ahead ? MessageVerdict::kAhead : MessageVerdict::kPut, *position, ""};
}

}  // namespace lapwing
