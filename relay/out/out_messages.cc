#include "relay/out/out_messages.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"

namespace lapwing {

absl::StatusOr<OutMessages> OutMessages::open(const std::string& directory, const std::string& name,
                                              std::uint64_t now_ns) {
  OriginWatch watch(directory);
  if (absl::Status looked = watch.look(now_ns); !looked.ok()) return looked;
  absl::StatusOr<SessionRows> rows = SessionRows::open(watch.bus().journal_root);
  if (!rows.ok()) return rows.status();
  return OutMessages(name, std::move(watch), *std::move(rows));
}

absl::Status OutMessages::refresh(std::uint64_t now_ns) {
  const std::string root = watch_.bus().journal_root;
  if (absl::Status looked = watch_.look(now_ns); !looked.ok()) return looked;
  if (watch_.bus().journal_root == root) return rows_.refresh();
  absl::StatusOr<SessionRows> rows = SessionRows::open(watch_.bus().journal_root);
  if (!rows.ok()) return rows.status();
  rows_ = *std::move(rows);
  times_ = std::make_unique<RecordTimes>(watch_.bus().journal_root);
  return absl::OkStatus();
}

std::size_t OutMessages::newest_session() const {
  return rows_.position_of(watch_.state().session_id).value_or(rows_.count() - 1);
}

RelayOrigin OutMessages::origin_of(std::size_t session, std::uint64_t wall_ns) {
  RelayOrigin origin = rows_.origin_of(session);
  const OriginReading& state = watch_.update();
  origin.head = state.head;
  origin.durable = state.durable;
  origin.time_ns = wall_ns;
  return origin;
}

RelayOrigin OutMessages::origin(std::uint64_t wall_ns) {
  return origin_of(newest_session(), wall_ns);
}

MadeMessage OutMessages::records(const FedRecords& records, std::uint64_t wall_ns,
                                 RelayBuffer& buffer) {
  const std::optional<std::size_t> session = rows_.position_of(records.session_id);
  if (!session) {
    return make_error(Errc::kNotFound,
                      absl::StrCat("the journal's sessions do not list session ",
                                   records.session_id.hex(), " of record ", records.first));
  }
  RelayOrigin origin = origin_of(*session, wall_ns);
  const bool is_of_newest = records.journal_id == watch_.state().journal_id;
  // Records may be ready before head counts them.
  if (is_of_newest) origin.head = std::max(origin.head, records.last());
  // The index has the times of what is synced.
  if (!is_of_newest || records.last() <= origin.durable) {
    const auto time = times_->time_of(rows_.session(*session).begin, records.last());
    if (time) origin.time_ns = *time;
  }
  return make_records_message(origin, records.first, records.bytes, buffer);
}

MadeMessage OutMessages::sessions(std::size_t first, std::size_t count, std::uint64_t wall_ns,
                                  RelayBuffer& buffer) {
  std::vector<RelaySession> rows;
  rows.reserve(count);
  for (std::size_t i = first; i < first + count; ++i) rows.push_back(rows_.row(i));
  return make_sessions_message(origin(wall_ns), first, rows, buffer);
}

MadeMessage OutMessages::bus_message(std::uint64_t wall_ns, RelayBuffer& buffer) {
  const SessionBegin& begin = rows_.session(newest_session()).begin;
  return make_bus_message(origin(wall_ns), relay_bus_of(watch_.bus(), begin, name_), buffer);
}

MadeMessage OutMessages::beat(const std::optional<StoredPosition>& sent, std::uint64_t wall_ns,
                              RelayBuffer& buffer) {
  RelayOrigin origin = this->origin(wall_ns);
  const OriginReading& state = watch_.state();
  RelayBeat beat{};
  if (sent) {
    beat.sent_session = sent->session_id;
    beat.sent = sent->sequence;
    if (sent->session_id == origin.session_id) origin.head = std::max(origin.head, beat.sent);
  }
  beat.oldest = state.oldest;
  beat.journal_state = state.journal.state;
  beat.sys_errno = state.journal.sys_errno;
  beat.publisher = state.publisher;
  return make_beat_message(origin, beat, buffer);
}

}  // namespace lapwing
