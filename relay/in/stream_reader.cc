#include "relay/in/stream_reader.h"

#include <algorithm>

#include "lapwing/error.h"

namespace lapwing {
namespace {

constexpr RelayRange kEverything{1, kSequenceMax};

}  // namespace

absl::Status StreamReader::failed(const absl::Status& status, std::uint64_t now_ns) {
  ended(now_ns);
  if (errc_of(status) != Errc::kNotFound) no_stream_since_ns_ = 0;
  if (errc_of(status) == Errc::kNotFound && no_stream_since_ns_ == 0) no_stream_since_ns_ = now_ns;
  const bool has_no_stream =
      no_stream_since_ns_ != 0 && now_ns - no_stream_since_ns_ >= kNoStreamNs;
  if (has_no_stream) {
    findings_.lacks.push_back(kEverything);
  } else {
    findings_.is_unreachable = true;
  }
  return errc_of(status) == Errc::kPeerGone ? status : absl::OkStatus();
}

absl::Status StreamReader::begin(RelayTransport& transport, std::uint64_t session_row,
                                 Sequence sequence, bool follows, const PlaceOf& place_of,
                                 std::uint64_t now_ns) {
  wanted_ = {session_row, sequence, sequence};
  follows_ = follows;
  is_caught_up_ = false;
  const absl::StatusOr<RelayTail> tail = transport.tail(kCallTime);
  if (!tail.ok()) return failed(tail.status(), now_ns);
  no_stream_since_ns_ = 0;
  const std::optional<RecordPlace> newest = place_of(tail->message);
  const bool is_empty = tail->first > tail->last;
  if (is_empty || (newest && newest->is_before(session_row, sequence))) {
    findings_.lacks.push_back(kEverything);
    is_caught_up_ = true;
    if (follows) return read(transport, tail->last + 1, now_ns);
    ended(now_ns);
    return absl::OkStatus();
  }
  search_ = StreamSearch(tail->first, tail->last);
  return probe(transport, now_ns);
}

absl::Status StreamReader::probe(RelayTransport& transport, std::uint64_t now_ns) {
  const std::optional<std::uint64_t> next = search_.probe();
  if (!next) return read(transport, search_.result(), now_ns);
  state_ = State::kSearching;
  due_ns_ = now_ns + kSilenceNs;
  const absl::Status status = transport.read_from(*next, kCallTime);
  return status.ok() ? status : failed(status, now_ns);
}

absl::Status StreamReader::read(RelayTransport& transport, std::uint64_t stream_sequence,
                                std::uint64_t now_ns) {
  state_ = State::kReading;
  due_ns_ = now_ns + kSilenceNs;
  const absl::Status status = transport.read_from(stream_sequence, kCallTime);
  return status.ok() ? status : failed(status, now_ns);
}

absl::Status StreamReader::take(RelayTransport& transport, std::uint64_t stream_sequence,
                                std::uint64_t pending, const std::optional<RecordPlace>& place,
                                std::uint64_t now_ns) {
  if (state_ == State::kSearching) {
    // A message that cannot be placed shows nothing, but the next one may.
    due_ns_ = now_ns + kSilenceNs;
    if (!place && pending > 0 && stream_sequence + 1 < search_.result()) return absl::OkStatus();
    search_.saw(stream_sequence, place && place->is_before(wanted_.session_row, wanted_.first));
    return probe(transport, now_ns);
  }
  if (state_ != State::kReading) return absl::OkStatus();
  is_caught_up_ = pending == 0;
  due_ns_ = now_ns + (is_caught_up_ ? kCaughtUpNs : kSilenceNs);
  if (place) pass(*place);
  return absl::OkStatus();
}

void StreamReader::pass(const RecordPlace& place) {
  if (place.is_before(wanted_.session_row, wanted_.first)) return;
  if (place.session_row != wanted_.session_row) {
    findings_.lacks.push_back({wanted_.first, kSequenceMax});
    return;
  }
  if (place.first > wanted_.first) findings_.lacks.push_back({wanted_.first, place.first - 1});
  wanted_.first = place.last + 1;
}

absl::Status StreamReader::expire(RelayTransport& transport, std::uint64_t now_ns) {
  if (is_idle() || now_ns < due_ns_) return absl::OkStatus();
  if (state_ == State::kSearching || !is_caught_up_) {
    stop(transport);
    findings_.is_unreachable = true;
    ended(now_ns);
    return absl::OkStatus();
  }
  due_ns_ = now_ns + kSilenceNs;
  if (follows_) return absl::OkStatus();
  findings_.lacks.push_back(kEverything);
  stop(transport);
  return absl::OkStatus();
}

void StreamReader::stop(RelayTransport& transport) {
  if (!is_idle()) transport.stop_reading();
  state_ = State::kIdle;
  due_ns_ = 0;
}

void StreamReader::ended(std::uint64_t now_ns) {
  state_ = State::kIdle;
  due_ns_ = now_ns + kPauseNs;
}

std::optional<std::uint64_t> StreamReader::next_due_ns() const {
  return due_ns_ == 0 ? std::nullopt : std::optional(due_ns_);
}

}  // namespace lapwing
