// The end of the stream: where the log lane continues.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "relay/out/out_machine.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kSearchNsMax = 5'000'000'000;

}  // namespace

absl::Status OutMachine::follow_stream() {
  if (search_ && clock_.now_ns >= search_ends_ns_) {
    search_.reset();
    transport_->stop_reading();
    sender_.doubt();
  }
  if (search_ || !sender_.wants_tail(clock_.now_ns)) return absl::OkStatus();
  if (sender_.lacks_stream()) has_stream_ = false;
  if (!has_stream_) {
    if (absl::Status opened = open_stream(); !opened.ok() || !has_stream_) return opened;
  }
  const absl::StatusOr<RelayTail> tail = transport_->tail(std::chrono::nanoseconds(kTailNsMax));
  if (tail.ok()) return take_tail(*tail);
  if (errc_of(tail.status()) == Errc::kNotFound) has_stream_ = false;
  sender_.fail_tail(clock_.now_ns);
  return absl::OkStatus();
}

// Errors: kInvalidArgument. All others may pass; live goes on meanwhile.
absl::Status OutMachine::open_stream() {
  absl::Status opened =
      transport_->open_stream(options_.stream, std::chrono::nanoseconds(kTailNsMax));
  if (opened.ok()) {
    has_stream_ = true;
    sender_.stream_was_opened();
    return absl::OkStatus();
  }
  if (errc_of(opened) == Errc::kInvalidArgument) return opened;
  sender_.fail_tail(clock_.now_ns);
  note(LogLevel::kWarning, absl::StrCat("no stream: ", opened.message()));
  return absl::OkStatus();
}

// Errors: kInvalidArgument if it is not of this bus.
absl::Status OutMachine::check_tail(const RelayHeader& header) const {
  const SessionRows& rows = messages_.rows();
  if (!rows.lists_journal(header.journal_id)) {
    return make_error(
        Errc::kInvalidArgument,
        absl::StrCat("the stream's last message is of journal ", header.journal_id.hex(),
                     ", which the bus in ", options_.directory,
                     " does not list. The stream belongs to another bus, or to this one before it "
                     "was made anew. Use another --name, or delete the stream."));
  }
  if (rows.position_of(header.session_id)) return absl::OkStatus();
  return make_error(
      Errc::kInvalidArgument,
      absl::StrCat("the stream's last message is of session ", header.session_id.hex(),
                   ", which journal ", header.journal_id.hex(), " in ", options_.directory,
                   " does not list: the bus was restored from an older copy. Use another --name, "
                   "or delete the stream."));
}

absl::Status OutMachine::take_tail(const RelayTail& tail) {
  ++counts_.doubts;
  RelayHeader header{};
  if (!tail.message.empty()) {
    const absl::StatusOr<RelayMessage> message = parse_message(tail.message);
    if (!message.ok()) {
      return make_error(
          Errc::kInvalidArgument,
          absl::StrCat("the stream's last message is not of a relay: ", message.status().message(),
                       ". Use another --name, or delete the stream."));
    }
    header = message->header;
    // `sessions` may have got the session since it was read.
    if (!messages_.rows().position_of(header.session_id)) {
      messages_.refresh(clock_.now_ns).IgnoreError();
    }
    if (absl::Status checked = check_tail(header); !checked.ok()) return checked;
  }
  const TailOwner owner = sender_.take_tail(tail.last, header.sum);
  if (owner == TailOwner::kAnother) {
    step_back();
    return absl::OkStatus();
  }
  if (owner == TailOwner::kOlder) {
    note(LogLevel::kWarning, absl::StrCat("the stream has only ", tail.last,
                                          " messages: it was restored from an older state"));
  }
  if (tail.message.empty()) return resume_anew(owner == TailOwner::kOlder || tail.last > 0);
  if (header.kind != RelayKind::kRecords) return begin_search(tail);
  return resume_after({header.journal_id, header.session_id, header.first + header.count - 1});
}

absl::Status OutMachine::begin_search(const RelayTail& tail) {
  search_.emplace(tail.first, tail.last);
  search_ends_ns_ = clock_.now_ns + kSearchNsMax;
  const absl::Status reading =
      transport_->read_from(search_->read_from(), std::chrono::nanoseconds(kTailNsMax));
  if (!reading.ok()) fail_search();
  return absl::OkStatus();
}

void OutMachine::fail_search() {
  search_.reset();
  sender_.doubt();
  sender_.fail_tail(clock_.now_ns);
}

void OutMachine::take_stored(const RelayArrival& arrival) {
  if (!search_) return;
  const bool must_read = search_->take(arrival) || arrival.kind == RelayArrivalKind::kReadEnded;
  if (search_->is_done()) {
    transport_->stop_reading();
    const std::optional<StoredPosition> found = search_->found();
    search_.reset();
    fatal_ = found ? resume_after(*found) : resume_anew(false);
    return;
  }
  if (!must_read) return;
  const absl::Status reading =
      transport_->read_from(search_->read_from(), std::chrono::nanoseconds(kTailNsMax));
  if (!reading.ok()) fail_search();
}

absl::Status OutMachine::open_log(Start start) {
  absl::StatusOr<RecordFeed> feed =
      RecordFeed::open(options_.directory, std::move(start), options_.until_closed);
  if (!feed.ok()) return feed.status();
  log_.open(*std::move(feed));
  has_more_ = true;
  return absl::OkStatus();
}

// Behind the last record of the stream.
absl::Status OutMachine::resume_after(const StoredPosition& end) {
  if (live_.is_open() && live_.last == end && !live_.held) {
    log_.take_from(live_);
    return absl::OkStatus();
  }
  absl::Status opened = open_log(start_after(end));
  log_.last = end;
  return opened;
}

// The stream has no record. `has_lost`: it had some. Mirrors ask for these, and it continues with the
// next ones.
absl::Status OutMachine::resume_anew(bool has_lost) {
  if (!has_lost && begun_) {
    Start start = Start::sequence(begun_->sequence);
    start.journal = begun_->journal_id;
    return open_log(std::move(start));
  }
  begun_.reset();
  if (!has_lost || !sent_) return open_log(first_start());
  if (!live_.is_open()) return open_log(start_after(*sent_));
  log_.take_from(live_);
  return absl::OkStatus();
}

// Or, if that is further back than the stream can hold, as far back as it can.
Start OutMachine::start_after(const StoredPosition& after) {
  const SessionRows& rows = messages_.rows();
  const OriginReading& state = messages_.update();
  const std::uint32_t record_bytes = rows.session(messages_.newest_session()).begin.record_bytes;
  const std::uint64_t records_max = options_.stream.bytes_max / record_bytes;
  const bool is_newest = after.journal_id == state.journal_id;
  const std::uint64_t behind =
      is_newest ? state.head - std::min(state.head, after.sequence) : state.head;
  if (behind <= records_max) return Start::after(after);
  counts_.skipped += behind - records_max;
  note(LogLevel::kWarning, absl::StrCat("the stream is ", behind,
                                        " records behind: ", behind - records_max, " are skipped"));
  return Start::sequence(state.head - records_max + 1);
}

Start OutMachine::first_start() {
  if (options_.from.kind == RelayFrom::Kind::kLive) return Start::live();
  if (options_.from.kind == RelayFrom::Kind::kSequence) {
    return Start::sequence(options_.from.sequence);
  }
  const OriginReading& state = messages_.update();
  const std::uint32_t record_bytes =
      messages_.rows().session(messages_.newest_session()).begin.record_bytes;
  const std::uint64_t records_max = options_.stream.bytes_max / record_bytes;
  if (state.head - std::min(state.head, state.oldest - 1) <= records_max) return Start::oldest();
  return Start::sequence(state.head - records_max + 1);
}

// The log lane's records go out on `live` from now on.
void OutMachine::doubt(const std::string& why) {
  note(LogLevel::kWarning, absl::StrCat("the stream is in doubt: ", why));
  if (!live_.is_open()) {
    live_.take_from(log_);
  } else {
    log_.close();
  }
  is_caught_up_ = false;
  behind_since_ns_ = clock_.now_ns;
}

}  // namespace lapwing
