#include "relay/message_rules.h"

#include <bit>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "lapwing/detail/plain_struct.h"
#include "proto/ring_layout.h"
#include "snapshot/journal/session_rules.h"

namespace lapwing {
namespace {

// The body must have at least (i + 1) × sizeof(Row) bytes.
template <typename Row>
Row row_of(std::span<const std::byte> body, std::size_t i) {
  return *detail::copy_as<Row>(body.subspan(i * sizeof(Row), sizeof(Row)));
}

template <typename Enum>
std::uint32_t number_of(Enum value) {
  return static_cast<std::uint32_t>(value);
}

template <typename Enum>
bool is_between(Enum value, Enum first, Enum last) {
  return value >= first && value <= last;
}

template <std::size_t kBytes>
bool is_terminated(const char (&field)[kBytes]) {
  return field[kBytes - 1] == '\0';
}

bool is_range(std::uint64_t first, std::uint64_t last) {
  return first != kNoSequence && first <= last && last <= kSequenceMax;
}

std::string rows_defect(const RelayHeader& header, std::span<const std::byte> body,
                        std::size_t row_bytes) {
  if (header.count == 0) return "it has no rows";
  if (body.size() == std::uint64_t{header.count} * row_bytes) return "";
  return absl::StrCat("its body has ", body.size(), " bytes, but ", header.count, " rows of ",
                      row_bytes, " bytes are stated");
}

std::string single_defect(const RelayHeader& header, std::span<const std::byte> body,
                          std::size_t struct_bytes) {
  if (header.count != 1) return absl::StrCat("its count is ", header.count, ", not 1");
  if (body.size() == struct_bytes) return "";
  return absl::StrCat("its body has ", body.size(), " bytes, not ", struct_bytes);
}

std::string origin_defect(const RelayHeader& header) {
  if (header.journal_id.is_zero()) return "it has no journal id";
  if (header.session_id.is_zero()) return "it has no session id";
  return "";
}

std::string records_defect(const RelayHeader& header, std::span<const std::byte> body) {
  if (std::string defect = origin_defect(header); !defect.empty()) return defect;
  if (header.count == 0) return "it has no records";
  if (header.count > kRelayRecordsMax) {
    return absl::StrCat("it has ", header.count, " records, more than ", kRelayRecordsMax);
  }
  if (header.record_bytes < kRecordBytesMin || header.record_bytes > kRecordBytesMax) {
    return absl::StrCat("its records have ", header.record_bytes, " bytes, not ", kRecordBytesMin,
                        " to ", kRecordBytesMax);
  }
  if (body.size() != std::uint64_t{header.count} * header.record_bytes) {
    return absl::StrCat("its body has ", body.size(), " bytes, but ", header.count, " records of ",
                        header.record_bytes, " bytes are stated");
  }
  if (header.first == kNoSequence || header.first > kSequenceMax - (header.count - 1)) {
    return absl::StrCat("its ", header.count, " records begin at sequence ", header.first);
  }
  return "";
}

std::string geometry_defect(std::uint32_t record_bytes, std::uint32_t slot_bytes,
                            std::uint64_t segment_slots) {
  SessionBegin begin;
  begin.record_bytes = record_bytes;
  begin.slot_bytes = slot_bytes;
  begin.segment_slots = segment_slots;
  return session_geometry_defect(begin);
}

std::string end_defect(const RelaySession& session) {
  if (session.how == SessionEnd::kNone) {
    const bool has_end = session.last != 0 || session.void_first != 0 || session.void_last != 0 ||
                         session.sys_errno != 0 || session.end_row != 0 || session.end_hash != 0 ||
                         session.end_wall_ns != 0;
    return has_end ? "is open and has values of an end" : "";
  }
  if (!is_between(session.how, SessionEnd::kClosed, SessionEnd::kUpstream)) {
    return absl::StrCat("has the unknown end ", number_of(session.how));
  }
  if (session.last < session.first - 1 || session.last > kSequenceMax) {
    return absl::StrCat("begins at sequence ", session.first, " and ends at ", session.last);
  }
  if (session.end_row <= session.begin_row) {
    return absl::StrCat("begins in row ", session.begin_row, " and ends in row ", session.end_row);
  }
  if (session.void_first == 0 && session.void_last == 0) return "";
  const bool may_have_void =
      session.how == SessionEnd::kCut || session.how == SessionEnd::kUpstream;
  if (!may_have_void || session.void_first != session.last + 1 ||
      !is_range(session.void_first, session.void_last)) {
    return absl::StrCat("ends as ", name_of(session.how), " at sequence ", session.last,
                        " with a void from ", session.void_first, " to ", session.void_last);
  }
  return "";
}

std::string session_defect(const RelaySession& session) {
  if (session.journal_id.is_zero()) return "has no journal id";
  if (session.session_id.is_zero()) return "has no session id";
  if (!is_terminated(session.schema)) return "has a schema without a final zero";
  if (session.first == kNoSequence || session.first > kSequenceMax) {
    return absl::StrCat("begins at sequence ", session.first);
  }
  const std::string geometry =
      geometry_defect(session.record_bytes, session.slot_bytes, session.segment_slots);
  if (!geometry.empty()) return absl::StrCat("has a wrong geometry: ", geometry);
  return end_defect(session);
}

std::string sessions_defect(const RelayHeader& header, std::span<const std::byte> body) {
  if (std::string defect = origin_defect(header); !defect.empty()) return defect;
  if (std::string defect = rows_defect(header, body, sizeof(RelaySession)); !defect.empty()) {
    return defect;
  }
  RelaySession before{};
  for (std::size_t i = 0; i < header.count; ++i) {
    const auto session = row_of<RelaySession>(body, i);
    if (const std::string defect = session_defect(session); !defect.empty()) {
      return absl::StrCat("session ", i, " ", defect);
    }
    if (i > 0 && before.how == SessionEnd::kNone) {
      return absl::StrCat("session ", i, " follows a session that has not ended");
    }
    if (i > 0 && session.begin_row <= before.end_row) {
      return absl::StrCat("session ", i, " begins in row ", session.begin_row,
                          ", and the session before it ends in row ", before.end_row);
    }
    before = session;
  }
  return "";
}

std::string bus_defect(const RelayHeader& header, std::span<const std::byte> body) {
  if (std::string defect = origin_defect(header); !defect.empty()) return defect;
  if (std::string defect = single_defect(header, body, sizeof(RelayBus)); !defect.empty()) {
    return defect;
  }
  const auto bus = row_of<RelayBus>(body, 0);
  if (bus.name[0] == '\0') return "the bus has no name";
  if (!is_terminated(bus.name)) return "the name of the bus has no final zero";
  if (!is_terminated(bus.schema)) return "the schema has no final zero";
  std::string geometry = geometry_defect(bus.record_bytes, bus.slot_bytes, bus.segment_slots);
  if (!geometry.empty()) return geometry;
  if (!std::has_single_bit(bus.capacity) || bus.capacity < capacity_min(bus.slot_bytes) ||
      bus.capacity > kCapacityMax) {
    return absl::StrCat("a ring cannot have ", bus.capacity, " slots of ", bus.slot_bytes,
                        " bytes");
  }
  if (bus.restamped > 1) return absl::StrCat("restamped is ", bus.restamped, ", not 0 or 1");
  return "";
}

std::string beat_defect(const RelayHeader& header, std::span<const std::byte> body) {
  if (std::string defect = origin_defect(header); !defect.empty()) return defect;
  if (std::string defect = single_defect(header, body, sizeof(RelayBeat)); !defect.empty()) {
    return defect;
  }
  const auto beat = row_of<RelayBeat>(body, 0);
  if (!is_between(beat.journal_state, JournalState::kNone, JournalState::kShed)) {
    return absl::StrCat("the unknown journal state ", number_of(beat.journal_state));
  }
  if (!is_between(beat.publisher, RelayPublisherState::kAlive, RelayPublisherState::kDead)) {
    return absl::StrCat("the unknown publisher state ", number_of(beat.publisher));
  }
  if (beat.sent > kSequenceMax) return absl::StrCat("sequence ", beat.sent, " was sent");
  if (beat.sent_session.is_zero() != (beat.sent == kNoSequence)) {
    return absl::StrCat("sequence ", beat.sent, " was sent of session ", beat.sent_session.hex());
  }
  if (beat.sent_session == header.session_id && beat.sent > header.head) {
    return absl::StrCat("sequence ", beat.sent, " was sent, and head is ", header.head);
  }
  return "";
}

std::string ask_defect(const RelayHeader& header, std::span<const std::byte> body) {
  if (std::string defect = single_defect(header, body, sizeof(RelayAsk)); !defect.empty()) {
    return defect;
  }
  const auto ask = row_of<RelayAsk>(body, 0);
  if (!is_between(ask.to, RelayAskee::kAll, RelayAskee::kOrigin)) {
    return absl::StrCat("it asks the unknown hosts ", number_of(ask.to));
  }
  const bool is_file = ask.request == RelayRequest::kFile;
  if (is_file ? !is_between(ask.file, RelayFile::kDescription, RelayFile::kCheckpoint)
              : number_of(ask.file) != 0) {
    return absl::StrCat("request ", number_of(ask.request), " has the unknown file kind ",
                        number_of(ask.file));
  }
  switch (ask.request) {
    case RelayRequest::kRecords:
      if (header.journal_id.is_zero()) return "it asks for records and has no journal id";
      if (!is_range(ask.first, ask.last)) {
        return absl::StrCat("it asks for records ", ask.first, " to ", ask.last);
      }
      return "";
    case RelayRequest::kFlush:
      if (header.journal_id.is_zero()) return "it asks for a flush and has no journal id";
      if (!is_range(ask.last, ask.last)) {
        return absl::StrCat("it asks for a flush of sequence ", ask.last);
      }
      return "";
    case RelayRequest::kSessions:
    case RelayRequest::kFile:
    case RelayRequest::kBus:
      return "";
  }
  return absl::StrCat("the unknown request ", number_of(ask.request));
}

std::string answer_defect(const RelayHeader& header, std::span<const std::byte> body) {
  if (header.count != 1) return absl::StrCat("its count is ", header.count, ", not 1");
  if (body.size() < sizeof(RelayAnswer)) {
    return absl::StrCat("its body has ", body.size(), " bytes, fewer than ", sizeof(RelayAnswer));
  }
  const auto answer = row_of<RelayAnswer>(body, 0);
  const std::uint64_t file_bytes = body.size() - sizeof answer;
  if (!is_between(answer.request, RelayRequest::kRecords, RelayRequest::kBus)) {
    return absl::StrCat("the unknown request ", number_of(answer.request));
  }
  if (!is_between(answer.outcome, RelayOutcome::kOk, RelayOutcome::kRefused)) {
    return absl::StrCat("the unknown outcome ", number_of(answer.outcome));
  }
  if (answer.request != RelayRequest::kFile || answer.outcome > RelayOutcome::kPartly) {
    return file_bytes == 0 ? ""
                           : absl::StrCat("it has ", file_bytes,
                                          " bytes of a file that it does not answer with");
  }
  if (answer.offset > answer.total || file_bytes > answer.total - answer.offset) {
    return absl::StrCat("a file of ", answer.total, " bytes does not have ", file_bytes,
                        " bytes at offset ", answer.offset);
  }
  return "";
}

std::string gone_defect(const RelayHeader& header, std::span<const std::byte> body) {
  if (header.journal_id.is_zero()) return "it has no journal id";
  if (std::string defect = rows_defect(header, body, sizeof(RelayAbsent)); !defect.empty()) {
    return defect;
  }
  Sequence through = kNoSequence;
  for (std::size_t i = 0; i < header.count; ++i) {
    const auto absent = row_of<RelayAbsent>(body, i);
    if (!is_range(absent.first, absent.last)) {
      return absl::StrCat("range ", i, " is from ", absent.first, " to ", absent.last);
    }
    if (absent.first <= through) {
      return absl::StrCat("range ", i, " begins at ", absent.first,
                          ", and the range before it ends at ", through);
    }
    if (!is_between(absent.cause, RelayAbsence::kPruned, RelayAbsence::kNeverArchived)) {
      return absl::StrCat("range ", i, " has the unknown cause ", number_of(absent.cause));
    }
    through = absent.last;
  }
  return "";
}

}  // namespace

bool is_known(RelayKind kind) {
  return is_between(kind, RelayKind::kRecords, RelayKind::kGone);
}

std::string content_defect(const RelayHeader& header, std::span<const std::byte> body) {
  if (header.head > kSequenceMax) return absl::StrCat("its head is ", header.head);
  if (header.durable > header.head) {
    return absl::StrCat("its durable, ", header.durable, ", is above its head, ", header.head);
  }
  switch (header.kind) {
    case RelayKind::kRecords:
      return records_defect(header, body);
    case RelayKind::kSessions:
      return sessions_defect(header, body);
    case RelayKind::kBus:
      return bus_defect(header, body);
    case RelayKind::kBeat:
      return beat_defect(header, body);
    case RelayKind::kAsk:
      return ask_defect(header, body);
    case RelayKind::kAnswer:
      return answer_defect(header, body);
    case RelayKind::kGone:
      return gone_defect(header, body);
  }
  return absl::StrCat("its kind ", static_cast<std::uint32_t>(header.kind), " is unknown");
}

}  // namespace lapwing
