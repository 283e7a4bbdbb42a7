// Decides whether a records message may extend the mirror.
//
// A message is applied only if its sum is right (parse_message), the sessions of its sender fit to
// those that are listed, its session is listed with the same geometry, and its records lie in that
// session. Of such a message, records that the mirror has are compared, and the others extend it
// exactly. A message that was sent before a power cut may reach behind what the origin kept. The part
// up to the session's `last` is used.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "lapwing/sequence.h"
#include "proto/relay_frames.h"
#include "relay/in/origin_sessions.h"

namespace lapwing {

// Where the mirror is: in a listed session, and the first sequence that it lacks there.
struct MirrorPlace {
  std::size_t session = 0;  // position in OriginSessions::list()
  Sequence next = 0;
};

enum class MessageVerdict {
  kPut,       // begins at or before `next`
  kAhead,     // of this session, and something is missing before it
  kLater,     // of a later session
  kEarlier,   // of an earlier session: the mirror has it
  kSessions,  // its sender lists more sessions: fetch them first
  kRefused,
};

struct Judgement {
  MessageVerdict verdict{};
  std::size_t session = 0;  // of the message; not with kSessions and kRefused
  std::string reason = {};  // kRefused
};

Judgement judge(const RelayHeader& header, const OriginSessions& sessions,
                const MirrorPlace& place);

// True if records behind the session's `last` may be put: its journal has failed, and its records
// continue in the ring.
bool continues_unarchived(const RelaySession& session);

}  // namespace lapwing
