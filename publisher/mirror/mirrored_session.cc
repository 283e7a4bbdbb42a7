#include "publisher/mirror/mirrored_session.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "proto/text_field.h"
#include "publisher/mirror/mirror.h"
#include "snapshot/journal/relay_session.h"

namespace lapwing {
namespace {

// Notes the first field that differs.
class Difference {
 public:
  template <typename T>
  void compare(const char* field, const T& ours, const T& theirs) {
    if (text_.empty() && !(ours == theirs)) {
      text_ = absl::StrCat(field, " is ", show(ours), " here and ", show(theirs), " at the origin");
    }
  }
  const std::string& text() const { return text_; }

 private:
  static std::string show(const Id128& id) { return id.hex(); }
  static std::string show(const std::string& text) { return text; }
  static std::string show(SessionEnd how) { return name_of(how); }
  static std::string show(std::uint64_t number) { return absl::StrCat(number); }

  std::string text_;
};

SessionEntry row_of(const RelaySession& session, SessionEntryKind kind) {
  SessionEntry row{};
  row.kind = kind;
  row.journal_id = session.journal_id;
  row.session_id = session.session_id;
  return row;
}

}  // namespace

SessionEntry mirrored_begin(const RelaySession& session) {
  SessionEntry row = row_of(session, SessionEntryKind::kBegin);
  row.first = session.first;
  row.slot_bytes = session.slot_bytes;
  row.record_bytes = session.record_bytes;
  row.segment_slots = session.segment_slots;
  row.source_id = session.source_id;
  row.source_offset = session.source_offset;
  row.source_fingerprint = session.source_fingerprint;
  row.schema_hash = session.schema_hash;
  row.metadata_hash = session.metadata_hash;
  static_assert(sizeof row.schema == sizeof session.schema);
  std::memcpy(row.schema, session.schema, sizeof row.schema);
  row.origin_row = session.begin_row;
  row.origin_hash = session.begin_hash;
  return row;
}

SessionEntry mirrored_end(const RelaySession& session) {
  SessionEntry row = row_of(session, SessionEntryKind::kEnd);
  row.how = session.how;
  row.last = session.last;
  row.void_first = session.void_first;
  row.void_last = session.void_last;
  row.sys_errno = session.sys_errno;
  row.origin_row = session.end_row;
  row.origin_hash = session.end_hash;
  return row;
}

RelaySession mirrored_session(const SessionRecord& listed) {
  RelaySession session = relay_session(listed);
  session.begin_row = listed.begin.origin_row;
  session.begin_hash = listed.begin.origin_hash;
  if (!listed.end) return session;
  session.end_row = listed.end->origin_row;
  session.end_hash = listed.end->origin_hash;
  return session;
}

Sequence last_used(const RelaySession& session) {
  return has_ended(session) ? std::max(session.last, session.void_last) : kSequenceMax;
}

absl::Status contradiction(const Id128& session_id, const std::string& what) {
  return make_error(Errc::kReset,
                    absl::StrCat("contradiction in session ", session_id.hex(), ": ", what,
                                 ". The mirror and the origin have different histories: move the "
                                 "mirror's directory away, and mirror into another one"));
}

std::string session_difference(const RelaySession& ours, const RelaySession& theirs) {
  Difference found;
  found.compare("the session", ours.session_id, theirs.session_id);
  found.compare("the journal", ours.journal_id, theirs.journal_id);
  found.compare("the first sequence", ours.first, theirs.first);
  found.compare("the slot size", ours.slot_bytes, theirs.slot_bytes);
  found.compare("the record size", ours.record_bytes, theirs.record_bytes);
  found.compare("the number of slots in a segment", ours.segment_slots, theirs.segment_slots);
  found.compare("the source", ours.source_id, theirs.source_id);
  found.compare("the source's position", ours.source_offset, theirs.source_offset);
  found.compare("the source's fingerprint", ours.source_fingerprint, theirs.source_fingerprint);
  found.compare("the schema", get_text(ours.schema), get_text(theirs.schema));
  found.compare("the hash of the description", ours.schema_hash, theirs.schema_hash);
  found.compare("the hash of the metadata", ours.metadata_hash, theirs.metadata_hash);
  found.compare("the number of the begin row", ours.begin_row, theirs.begin_row);
  found.compare("the hash of the begin row", ours.begin_hash, theirs.begin_hash);
  if (!has_ended(ours) || !has_ended(theirs)) return found.text();
  found.compare("the end", ours.how, theirs.how);
  found.compare("the last sequence", ours.last, theirs.last);
  found.compare("the first sequence of the void", ours.void_first, theirs.void_first);
  found.compare("the last sequence of the void", ours.void_last, theirs.void_last);
  found.compare("the error of the journal", ours.sys_errno, theirs.sys_errno);
  found.compare("the number of the end row", ours.end_row, theirs.end_row);
  found.compare("the hash of the end row", ours.end_hash, theirs.end_hash);
  return found.text();
}

}  // namespace lapwing
