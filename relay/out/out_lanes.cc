// The lanes: what is read from the bus, and on which way it goes out.
#include <algorithm>
#include <cstring>
#include <utility>

#include "lapwing/error.h"
#include "relay/out/out_machine.h"

namespace lapwing {
namespace {

std::uint64_t sum_of(std::span<const std::byte> message) {
  std::uint64_t sum = 0;
  std::memcpy(&sum, message.data() + offsetof(RelayHeader, sum), sizeof sum);
  return sum;
}

}  // namespace

absl::Status OutMachine::step_lanes() {
  if (absl::Status left = leave_stalled_log(); !left.ok()) return left;
  if (absl::Status opened = open_live(); !opened.ok()) return opened;
  if (live_.is_open()) {
    if (absl::Status stepped = step_lane(live_, kMessagesPerTurn); !stepped.ok()) return stepped;
  }
  if (transport_ != nullptr && log_.is_open()) {
    if (absl::Status stepped = step_lane(log_, kMessagesPerTurn); !stepped.ok()) return stepped;
  }
  if (transport_ != nullptr && !is_caught_up_ && has_caught_up()) {
    is_caught_up_ = true;
    live_.close();
  }
  return absl::OkStatus();
}

absl::Status OutMachine::open_live() {
  const bool is_due = !is_caught_up_ && clock_.now_ns - behind_since_ns_ >= kLiveAfterNs;
  if (!is_due || live_.is_open()) return absl::OkStatus();
  absl::StatusOr<RecordFeed> feed =
      RecordFeed::open(options_.directory, Start::live(), options_.until_closed);
  if (!feed.ok()) return feed.status();
  live_.open(*std::move(feed));
  return absl::OkStatus();
}

// The stream stores nothing for a while. The log lane continues behind what it has appended.
absl::Status OutMachine::leave_stalled_log() {
  if (!is_caught_up_ || !log_.last || !sender_.is_stalled(clock_.now_ns)) return absl::OkStatus();
  absl::StatusOr<RecordFeed> feed =
      RecordFeed::open(options_.directory, Start::after(*log_.last), options_.until_closed);
  if (!feed.ok()) return feed.status();
  const StoredPosition last = *log_.last;
  live_.take_from(log_);
  log_.open(*std::move(feed));
  log_.last = last;
  is_caught_up_ = false;
  behind_since_ns_ = clock_.now_ns;
  return absl::OkStatus();
}

bool OutMachine::has_caught_up() {
  if (!log_.is_open() || log_.held || !log_.notices.empty()) return false;
  if (log_.is_at_head) return true;
  return live_.last && log_.last && live_.last->journal_id == log_.last->journal_id &&
         log_.last->sequence >= live_.last->sequence;
}

absl::Status OutMachine::step_lane(Lane& lane, int messages_max) {
  for (int i = 0; i < messages_max; ++i) {
    if (transport_ == nullptr) return absl::OkStatus();
    if (&lane == &log_ && !sender_.has_room(kRelayMessageBytesMax)) return absl::OkStatus();
    if (!lane.notices.empty()) {
      const std::vector<std::byte> notice = std::move(lane.notices.front());
      lane.notices.pop_front();
      if (absl::Status sent = emit(lane, notice); !sent.ok()) return sent;
      continue;
    }
    if (lane.held) {
      if (absl::Status sent = emit_records(lane); !sent.ok()) return sent;
      continue;
    }
    const absl::StatusOr<RecordFeed::Item> item = lane.feed->next(lane.buffer.body());
    if (!item.ok()) return item.status();
    lane.is_at_head = false;
    switch (item->kind) {
      case RecordFeed::Kind::kNothing:
        lane.is_at_head = lane.feed->is_at_head() ||
                          (lane.last && lane.last->journal_id == messages_.state().journal_id &&
                           lane.last->sequence >= messages_.update().head);
        return absl::OkStatus();
      case RecordFeed::Kind::kClosed:
        lane.is_at_head = lane.is_closed = true;
        return absl::OkStatus();
      case RecordFeed::Kind::kEvent:
        if (&lane == &log_) counts_.lost += item->lost;
        break;
      case RecordFeed::Kind::kRecords:
        lane.held = item->records;
        if (!needs_notices(lane, item->records)) break;
        if (absl::Status prepared = prepare_notices(lane, item->records.session_id);
            !prepared.ok()) {
          return prepared;
        }
        break;
    }
  }
  has_more_ = true;
  return absl::OkStatus();
}

bool OutMachine::needs_notices(const Lane& lane, const FedRecords& records) const {
  return !lane.announced || lane.announced_session != records.session_id ||
         lane.announced != messages_.rows().newest();
}

// Sessions from the one before `session_id` on, or those that are new since, and the bus.
absl::Status OutMachine::prepare_notices(Lane& lane, const Id128& session_id) {
  if (absl::Status refreshed = messages_.refresh(clock_.now_ns);
      errc_of(refreshed) == Errc::kNoJournal) {
    return refreshed;
  }
  const SessionRows& rows = messages_.rows();
  const std::size_t position = rows.position_of(session_id).value_or(rows.count() - 1);
  std::size_t first = position == 0 ? 0 : position - 1;
  // The last session that was announced may have got its end.
  if (lane.announced && lane.announced_count > 0) {
    first = std::min(position, std::min(lane.announced_count, rows.count()) - 1);
  }
  for (std::size_t i = first; i < rows.count(); i += kRelaySessionsMax) {
    const std::size_t count = std::min(kRelaySessionsMax, rows.count() - i);
    const MadeMessage message = messages_.sessions(i, count, clock_.wall_ns, notice_buffer_);
    if (!message.ok()) return message.status();
    lane.notices.emplace_back(message->begin(), message->end());
  }
  const MadeMessage bus = messages_.bus_message(clock_.wall_ns, notice_buffer_);
  if (!bus.ok()) return bus.status();
  lane.notices.emplace_back(bus->begin(), bus->end());
  lane.announced = rows.newest();
  lane.announced_count = rows.count();
  lane.announced_session = session_id;
  return absl::OkStatus();
}

// A lost connection is not an error here: transport_ is null then.
absl::Status OutMachine::emit(Lane& lane, std::span<const std::byte> message) {
  const bool is_stored = &lane == &log_;
  const absl::Status sent = is_stored ? transport_->append(message, sender_.expected_last())
                                      : transport_->send(RelaySubject::kLive, message);
  if (!sent.ok()) {
    lose(sent);
    return absl::OkStatus();
  }
  if (is_stored) sender_.add(message.size(), sum_of(message), clock_.now_ns);
  ++counts_.messages;
  counts_.bytes += message.size();
  return absl::OkStatus();
}

absl::Status OutMachine::emit_records(Lane& lane) {
  const FedRecords records = *lane.held;
  const bool is_stored = &lane == &log_;
  const MadeMessage message = messages_.records(records, clock_.wall_ns, lane.buffer);
  if (!message.ok()) return message.status();
  if (absl::Status sent = emit(lane, *message); !sent.ok()) return sent;
  if (transport_ == nullptr) return absl::OkStatus();
  lane.held.reset();
  lane.last = records.end();
  if (is_stored && !begun_) begun_ = {records.journal_id, records.session_id, records.first};
  (is_stored ? counts_.records : counts_.live) += records.count;
  note_sent(records);
  return absl::OkStatus();
}

// Catching up does not move `sent` back.
void OutMachine::note_sent(const FedRecords& records) {
  const std::size_t session = messages_.rows().position_of(records.session_id).value_or(0);
  if (sent_ && (session < sent_session_ ||
                (session == sent_session_ && records.last() <= sent_->sequence))) {
    return;
  }
  sent_ = records.end();
  sent_session_ = session;
}

}  // namespace lapwing
