#include "snapshot/journal/relay_session.h"

#include <cstring>

namespace lapwing {

RelaySession relay_session(const SessionRecord& listed) {
  const SessionBegin& begin = listed.begin;
  RelaySession session{};
  session.journal_id = begin.journal_id;
  session.session_id = begin.session_id;
  session.first = begin.first;
  session.slot_bytes = begin.slot_bytes;
  session.record_bytes = begin.record_bytes;
  session.segment_slots = begin.segment_slots;
  session.source_id = begin.source_id;
  session.source_offset = begin.source_offset;
  session.source_fingerprint = begin.source_fingerprint;
  session.schema_hash = begin.schema_hash;
  session.metadata_hash = begin.metadata_hash;
  static_assert(sizeof session.schema == sizeof begin.schema);
  std::memcpy(session.schema, begin.schema, sizeof session.schema);
  session.begin_wall_ns = begin.wall_ns;
  if (!listed.end) return session;
  const EndOfSession& end = *listed.end;
  session.how = end.how;
  session.sys_errno = end.sys_errno;
  session.last = end.last;
  session.void_first = end.void_first;
  session.void_last = end.void_last;
  session.end_wall_ns = end.wall_ns;
  return session;
}

}  // namespace lapwing
