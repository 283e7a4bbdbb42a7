#include "snapshot/journal/session_rules.h"

#include <bit>

#include "absl/strings/str_cat.h"
#include "proto/ring_layout.h"

namespace lapwing {
namespace {

bool knows_journal(const std::vector<SessionRecord>& sessions, const Id128& journal_id) {
  for (const SessionRecord& session : sessions) {
    if (session.begin.journal_id == journal_id) return true;
  }
  return false;
}

// The session continues the journal of the one before it.
std::string continuation_defect(const SessionRecord& before, const SessionEntry& begin) {
  const SessionEntry& end = *before.end;
  if (end.how == SessionEnd::kFailed) return "a session continues a journal that has failed";
  const Sequence expected = (end.void_last != 0 ? end.void_last : end.last) + 1;
  if (begin.first != expected) {
    return absl::StrCat("a session begins at sequence ", begin.first, " where ", expected,
                        " is next");
  }
  if (begin.slot_bytes != before.begin.slot_bytes ||
      begin.record_bytes != before.begin.record_bytes ||
      begin.segment_slots != before.begin.segment_slots) {
    return "a session changes the geometry of its journal";
  }
  return "";
}

std::string begin_defect(const std::vector<SessionRecord>& sessions, const SessionEntry& begin) {
  if (begin.journal_id.is_zero() || begin.session_id.is_zero()) return "a session without an id";
  const std::string geometry = session_geometry_defect(begin);
  if (!geometry.empty()) return geometry;
  if (!sessions.empty()) {
    if (!sessions.back().end) return "a session begins before the one before it has ended";
    for (const SessionRecord& session : sessions) {
      if (session.begin.session_id == begin.session_id) return "a session begins twice";
    }
    if (sessions.back().begin.journal_id == begin.journal_id) {
      return continuation_defect(sessions.back(), begin);
    }
  }
  if (knows_journal(sessions, begin.journal_id)) return "a journal that was left is continued";
  if (begin.first != 1) {
    return absl::StrCat("a new journal begins at sequence ", begin.first, ", not at 1");
  }
  return "";
}

std::string reserve_defect(const SessionRecord& session, const SessionEntry& reserve) {
  if (reserve.through < session.first() || reserve.through <= session.reserved_through) {
    return absl::StrCat("a reservation through ", reserve.through, " reserves nothing");
  }
  if (reserve.through % slots_per_block(session.begin.slot_bytes) != 0) {
    return absl::StrCat("a reservation through ", reserve.through, " is not of whole blocks");
  }
  return "";
}

std::string end_defect(const SessionRecord& session, const SessionEntry& end) {
  const Sequence none = session.first() - 1;
  const Sequence reserved = session.reserved_through != 0 ? session.reserved_through : none;
  if (end.last < none || end.last > reserved) {
    return absl::StrCat("a session of ", session.first(), " to at most ", reserved, " ends with ",
                        end.last);
  }
  if (end.how < SessionEnd::kClosed || end.how > SessionEnd::kFailed) return "an unknown end";
  const bool has_void = end.void_first != 0 || end.void_last != 0;
  if (!has_void) return "";
  if (end.how != SessionEnd::kCut || end.void_first != end.last + 1 ||
      end.void_last < end.void_first || end.void_last > reserved) {
    return absl::StrCat("an end at ", end.last, " cannot have a void of ", end.void_first, " to ",
                        end.void_last);
  }
  return "";
}

}  // namespace

std::string session_geometry_defect(const SessionEntry& begin) {
  if (begin.record_bytes < kRecordBytesMin || begin.record_bytes > kRecordBytesMax ||
      begin.slot_bytes != slot_bytes_for(begin.record_bytes)) {
    return absl::StrCat("records of ", begin.record_bytes, " bytes do not go into slots of ",
                        begin.slot_bytes);
  }
  if (!std::has_single_bit(begin.segment_slots) ||
      begin.segment_slots * begin.slot_bytes < kSegmentSlotBytesMin) {
    return absl::StrCat("a segment cannot have ", begin.segment_slots, " slots");
  }
  return "";
}

std::string session_entry_defect(const std::vector<SessionRecord>& sessions,
                                 const SessionEntry& next) {
  if (next.kind == SessionEntryKind::kBegin) return begin_defect(sessions, next);
  if (next.kind != SessionEntryKind::kReserve && next.kind != SessionEntryKind::kEnd) {
    return absl::StrCat("an entry of unknown kind ", static_cast<std::uint32_t>(next.kind));
  }
  if (sessions.empty() || sessions.back().end) return "an entry outside of a session";
  const SessionRecord& session = sessions.back();
  if (next.session_id != session.begin.session_id || next.journal_id != session.begin.journal_id) {
    return "an entry of another session";
  }
  return next.kind == SessionEntryKind::kReserve ? reserve_defect(session, next)
                                                 : end_defect(session, next);
}

void fold_session_entry(std::vector<SessionRecord>& sessions, const SessionEntry& entry) {
  switch (entry.kind) {
    case SessionEntryKind::kBegin:
      sessions.push_back({entry, 0, std::nullopt});
      break;
    case SessionEntryKind::kReserve:
      sessions.back().reserved_through = entry.through;
      break;
    case SessionEntryKind::kEnd:
      sessions.back().end = entry;
      break;
  }
}

}  // namespace lapwing
