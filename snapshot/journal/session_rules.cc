#include "snapshot/journal/session_rules.h"

#include <bit>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "proto/ring_layout.h"
#include "proto/text_field.h"

namespace lapwing {
namespace {

// For a session that continues the journal of the previous session.
std::string continuation_defect(const SessionRecord& before, const SessionEntry& begin) {
  const EndOfSession& end = *before.end;
  if (end.how == SessionEnd::kFailed) return "a session continues a journal that has failed";
  if (begin.first != end.next()) {
    return absl::StrCat("a session begins at sequence ", begin.first, " where ", end.next(),
                        " is next");
  }
  if (begin.slot_bytes != before.begin.slot_bytes ||
      begin.record_bytes != before.begin.record_bytes ||
      begin.segment_slots != before.begin.segment_slots) {
    return "a session changes the geometry of its journal";
  }
  return "";
}

// For a row of version 3.
std::string mirror_defect(const SessionEntry& row) {
  const bool is_begin = row.kind == SessionEntryKind::kBegin;
  if (is_begin && (!row.boot_id.is_zero() || row.ring_path[0] != '\0')) {
    return "a session of a mirror with a boot or a ring";
  }
  const bool is_own_end = row.kind == SessionEntryKind::kEnd && row.origin_hash == 0;
  if (is_own_end && row.how != SessionEnd::kFailed) return "an end that no origin wrote";
  return "";
}

std::string reserve_defect(const SessionRecord& session, const SessionEntry& reserve) {
  if (session.begin.is_mirrored()) return "a reservation in the log of a mirror";
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
  const SessionEnd newest =
      session.begin.version == 1 ? SessionEnd::kFailed : SessionEnd::kUpstream;
  if (end.how < SessionEnd::kClosed || end.how > newest) return "an unknown end";
  const bool has_void = end.void_first != 0 || end.void_last != 0;
  if (!has_void) return "";
  const bool may_have_void = end.how == SessionEnd::kCut || end.how == SessionEnd::kUpstream;
  if (!may_have_void || end.void_first != end.last + 1 || end.void_last < end.void_first ||
      end.void_last > reserved) {
    return absl::StrCat("an end at ", end.last, " cannot have a void of ", end.void_first, " to ",
                        end.void_last);
  }
  return "";
}

}  // namespace

SessionBegin::SessionBegin(const SessionEntry& row)
    : version(row.version),
      slot_bytes(row.slot_bytes),
      record_bytes(row.record_bytes),
      journal_id(row.journal_id),
      session_id(row.session_id),
      boot_id(row.boot_id),
      first(row.first),
      segment_slots(row.segment_slots),
      source_id(row.source_id),
      source_offset(row.source_offset),
      wall_ns(row.wall_ns),
      schema_hash(row.schema_hash),
      source_fingerprint(row.source_fingerprint),
      metadata_hash(row.metadata_hash),
      has_ring(row.ring_path[0] != '\0'),
      origin_row(row.origin_row),
      origin_hash(row.origin_hash) {
  std::memcpy(schema, row.schema, sizeof schema);
}

SessionEntry SessionBegin::row() const {
  SessionEntry row{};
  row.version = version;
  row.kind = SessionEntryKind::kBegin;
  row.journal_id = journal_id;
  row.session_id = session_id;
  row.boot_id = boot_id;
  row.first = first;
  row.slot_bytes = slot_bytes;
  row.record_bytes = record_bytes;
  row.segment_slots = segment_slots;
  row.source_id = source_id;
  row.source_offset = source_offset;
  row.wall_ns = wall_ns;
  std::memcpy(row.schema, schema, sizeof schema);
  row.schema_hash = schema_hash;
  row.source_fingerprint = source_fingerprint;
  row.metadata_hash = metadata_hash;
  if (has_ring) set_text(row.ring_path, kFormerRing);
  row.origin_row = origin_row;
  row.origin_hash = origin_hash;
  return row;
}

EndOfSession::EndOfSession(const SessionEntry& row)
    : how(row.how),
      sys_errno(row.sys_errno),
      last(row.last),
      void_first(row.void_first),
      void_last(row.void_last),
      wall_ns(row.wall_ns),
      origin_row(row.origin_row),
      origin_hash(row.origin_hash) {}

std::string session_geometry_defect(const SessionBegin& begin) {
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

const SessionRecord* SessionTable::find(const Id128& session_id) const {
  const auto found = positions_.find(session_id.bytes);
  return found == positions_.end() ? nullptr : &sessions_[found->second];
}

std::span<const SessionRecord> SessionTable::sessions_of(const Id128& journal_id) const {
  const auto found = journals_.find(journal_id.bytes);
  if (found == journals_.end()) return {};
  const Span& span = found->second;
  return std::span(sessions_).subspan(span.first, span.last - span.first + 1);
}

bool SessionTable::is_mirror() const {
  if (sessions_.empty() || !sessions_.back().begin.is_mirrored()) return false;
  return !sessions_.back().end || sessions_.back().end->origin_hash != 0;
}

std::string SessionTable::begin_defect(const SessionEntry& begin) const {
  if (begin.journal_id.is_zero() || begin.session_id.is_zero()) return "a session without an id";
  const std::string geometry = session_geometry_defect(begin);
  return geometry.empty() ? order_defect(begin) : geometry;
}

// For a begin that is valid by itself.
std::string SessionTable::order_defect(const SessionEntry& begin) const {
  const bool is_mirrored = begin.version == kMirrorSessionVersion;
  // A mirror may begin, or return to its origin, when the origin no longer lists older sessions.
  const bool may_begin_late = is_mirrored || (was_shortened_ && sessions_.empty());
  if (!sessions_.empty()) {
    const SessionRecord& before = sessions_.back();
    if (!before.end) return "a session begins before the last one has ended";
    if (is_mirror() != is_mirrored) return "a mirrored session and one of this host in one history";
    if (positions_.contains(begin.session_id.bytes)) return "a session begins twice";
    if (before.begin.journal_id == begin.journal_id) return continuation_defect(before, begin);
    if (journals_.contains(begin.journal_id.bytes)) return "a discarded journal is continued";
  }
  if (begin.first == 1 || (may_begin_late && begin.first > 1)) return "";
  return absl::StrCat("a new journal begins at sequence ", begin.first, ", not at 1");
}

std::string SessionTable::defect(const SessionEntry& row) const {
  if (row.version == kMirrorSessionVersion) {
    const std::string defect = mirror_defect(row);
    if (!defect.empty()) return defect;
  }
  if (row.kind == SessionEntryKind::kBegin) return begin_defect(row);
  if (row.kind != SessionEntryKind::kReserve && row.kind != SessionEntryKind::kEnd) {
    return absl::StrCat("an entry of unknown kind ", static_cast<std::uint32_t>(row.kind));
  }
  if (sessions_.empty() || sessions_.back().end) return "an entry outside of a session";
  const SessionRecord& session = sessions_.back();
  if (row.session_id != session.begin.session_id || row.journal_id != session.begin.journal_id) {
    return "an entry of another session";
  }
  return row.kind == SessionEntryKind::kReserve ? reserve_defect(session, row)
                                                : end_defect(session, row);
}

void SessionTable::add(const SessionEntry& row, std::uint64_t hash) {
  switch (row.kind) {
    case SessionEntryKind::kBegin:
      sessions_.push_back({row, 0, std::nullopt, row.index, hash});
      if (row.version == kMirrorSessionVersion) sessions_.back().reserved_through = kSequenceMax;
      ring_path_ = get_text(row.ring_path);
      if (ring_path_ == kFormerRing) ring_path_.clear();
      enter(sessions_.size() - 1);
      break;
    case SessionEntryKind::kReserve:
      sessions_.back().reserved_through = row.through;
      break;
    case SessionEntryKind::kEnd:
      sessions_.back().end = row;
      sessions_.back().end_row_index = row.index;
      sessions_.back().end_row_hash = hash;
      break;
    case SessionEntryKind::kShortened:
      break;
  }
}

void SessionTable::enter(std::size_t position) {
  const SessionBegin& begin = sessions_[position].begin;
  positions_.emplace(begin.session_id.bytes, position);
  journals_.try_emplace(begin.journal_id.bytes, Span{position, position}).first->second.last =
      position;
}

void SessionTable::restart(bool was_shortened) {
  sessions_.clear();
  positions_.clear();
  journals_.clear();
  ring_path_.clear();
  was_shortened_ = was_shortened;
}

void SessionTable::drop_front(std::size_t count) {
  sessions_.erase(sessions_.begin(), sessions_.begin() + static_cast<std::ptrdiff_t>(count));
  positions_.clear();
  journals_.clear();
  was_shortened_ = true;
  for (std::size_t i = 0; i < sessions_.size(); ++i) enter(i);
}

}  // namespace lapwing
