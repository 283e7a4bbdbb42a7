#include "relay/out/out_machine.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"

namespace lapwing {
namespace {

constexpr int kArrivalsPerTurn = 256;
// How often to look while something is expected that wakes nobody.
constexpr std::uint64_t kLookNs = 20'000'000;

}  // namespace

OutMachine::OutMachine(RelayOutOptions options, OutMessages messages, RelayConnect connect,
                       AskSink asks, std::uint64_t seed)
    : options_(std::move(options)),
      messages_(std::move(messages)),
      connect_(std::move(connect)),
      asks_(std::move(asks)),
      redial_(seed),
      log_(options_.zstd_level),
      live_(options_.zstd_level) {}

void OutMachine::note(LogLevel level, const std::string& message) const {
  if (options_.log) options_.log({level, "relay", message});
}

absl::StatusOr<OutMachine::Turn> OutMachine::turn(std::uint64_t now_ns, std::uint64_t wall_ns) {
  clock_ = {now_ns, wall_ns};
  has_more_ = false;
  if (transport_ == nullptr) connect();
  if (transport_ != nullptr) take_acks();
  if (transport_ != nullptr) take_inbox();
  if (transport_ != nullptr && role() != Standby::Role::kActive) watch_other();
  if (transport_ != nullptr && role() == Standby::Role::kActive && fatal_.ok()) {
    fatal_ = follow_stream();
    if (fatal_.ok()) fatal_ = step_lanes();
    if (fatal_.ok()) fatal_ = step_beats();
    step_end();
  }
  if (!fatal_.ok()) return fatal_;
  Turn turn{has_more_, now_ns + kLookNs};
  if (transport_ == nullptr) {
    turn.next_ns = redial_.at_ns();
  } else if (is_in_step() && sender_.has_room(kRelayMessageBytesMax)) {
    turn.next_ns = beats_.next_look_ns(now_ns);
  }
  return turn;
}

void OutMachine::connect() {
  if (clock_.now_ns < redial_.at_ns()) return;
  absl::StatusOr<std::unique_ptr<RelayTransport>> made = connect_();
  if (!made.ok()) {
    redial_.failed(clock_.now_ns);
    note(LogLevel::kWarning, absl::StrCat("no connection: ", made.status().message()));
    return;
  }
  transport_ = *std::move(made);
  ++counts_.connections;
  redial_.connected(clock_.now_ns);
  has_stream_ = false;
  behind_since_ns_ = clock_.now_ns;
  constexpr std::array kSubjects = {RelaySubject::kBeat, RelaySubject::kAsk};
  if (const absl::Status listening = transport_->listen(kSubjects); !listening.ok()) {
    lose(listening);
  }
}

// The next connection begins with the end of the stream. What was read and not stored is read again.
void OutMachine::lose(const absl::Status& why) {
  if (transport_ == nullptr) return;
  note(LogLevel::kWarning, absl::StrCat("the connection is lost: ", why.message()));
  transport_.reset();
  sender_.disconnect();
  search_.reset();
  log_.close();
  live_.close();
  is_caught_up_ = false;
  redial_.failed(clock_.now_ns);
}

void OutMachine::take_acks() {
  while (const std::optional<RelayAck> ack = transport_->take_ack()) {
    sender_.take_ack(*ack, clock_.now_ns);
  }
  if (!sender_.is_following() && log_.is_open()) doubt(sender_.trouble());
}

void OutMachine::take_inbox() {
  for (int i = 0; i < kArrivalsPerTurn && transport_ != nullptr; ++i) {
    const absl::StatusOr<std::optional<RelayArrival>> taken = transport_->take(Deadline::now());
    if (!taken.ok()) return lose(taken.status());
    if (!*taken) return;
    const RelayArrival& arrival = **taken;
    if (arrival.kind != RelayArrivalKind::kPublished) {
      take_stored(arrival);
    } else if (arrival.subject == RelaySubject::kAsk) {
      take_ask(arrival);
    } else if (arrival.subject == RelaySubject::kBeat) {
      take_beat(arrival);
    }
  }
  has_more_ = true;
}

void OutMachine::take_ask(const RelayArrival& arrival) {
  if (role() != Standby::Role::kActive || arrival.reply_to.empty()) return;
  if (asks_(transport_, arrival.reply_to, arrival.message)) return;
  ++counts_.asks_refused;
  const absl::StatusOr<RelayMessage> ask = parse_message(arrival.message);
  if (!ask.ok() || ask->skipped() || ask->header.kind != RelayKind::kAsk) return;
  RelayAnswer busy{};
  busy.request = ask->ask().request;
  busy.outcome = RelayOutcome::kBusy;
  busy.token = ask->ask().token;
  const MadeMessage message =
      make_answer_message(messages_.origin(clock_.wall_ns), busy, {}, notice_buffer_);
  // A lost connection is noticed by the next take().
  if (message.ok()) transport_->answer(arrival.reply_to, *message).IgnoreError();
}

void OutMachine::take_beat(const RelayArrival& arrival) {
  const absl::StatusOr<RelayMessage> beat = parse_message(arrival.message);
  if (!beat.ok() || beat->skipped() || beat->header.kind != RelayKind::kBeat) return;
  const bool was_listening = role() == Standby::Role::kListening;
  standby_.hear(beat->beat().sent, clock_.now_ns);
  if (was_listening) note(LogLevel::kInfo, "another relay sends this bus: standing by");
}

// Until this out is the active one.
void OutMachine::watch_other() {
  if (clock_.now_ns < next_standby_tail_ns_) return;
  const bool stands_by = role() == Standby::Role::kStandby;
  next_standby_tail_ns_ = clock_.now_ns + (stands_by ? kStandbyTailNs : kLookNs);
  // An error may pass. The next look repeats it.
  messages_.refresh(clock_.now_ns).IgnoreError();
  if (stands_by) {
    const absl::StatusOr<RelayTail> tail = transport_->tail(std::chrono::nanoseconds(kTailNsMax));
    if (tail.ok()) seen_tail_ = tail->last;
  }
  if (standby_.step(seen_tail_, messages_.state().head, clock_.now_ns) != Standby::Role::kActive) {
    return;
  }
  behind_since_ns_ = clock_.now_ns;
  has_more_ = true;
  if (!stands_by) return;
  ++counts_.takeovers;
  sender_.take_over();
  note(LogLevel::kWarning, "the other relay rests: taking over");
}

void OutMachine::step_back() {
  note(LogLevel::kWarning, "another relay has appended to the stream: standing by");
  standby_.step_back(clock_.now_ns);
  sender_.doubt();
  search_.reset();
  log_.close();
  live_.close();
  is_caught_up_ = false;
}

absl::Status OutMachine::step_beats() {
  if (transport_ == nullptr) return absl::OkStatus();
  const OriginReading& state = messages_.update();
  if (!beats_.is_due(state.head, state.durable, clock_.now_ns)) return absl::OkStatus();
  const absl::Status refreshed = messages_.refresh(clock_.now_ns);
  if (errc_of(refreshed) == Errc::kNoJournal) return refreshed;
  Lane& lane = is_caught_up_ || !live_.is_open() ? log_ : live_;
  const bool may_announce = lane.is_open() && (lane.announced || lane.is_at_head);
  if (may_announce && lane.announced != messages_.rows().newest() && lane.notices.empty()) {
    const SessionBegin& newest = messages_.rows().session(messages_.newest_session()).begin;
    const Id128 session = lane.announced ? lane.announced_session : newest.session_id;
    if (absl::Status prepared = prepare_notices(lane, session); !prepared.ok()) return prepared;
    has_more_ = true;
  }
  const MadeMessage beat = messages_.beat(sent_, clock_.wall_ns, notice_buffer_);
  if (!beat.ok()) return beat.status();
  beats_.sent(clock_.now_ns);
  ++counts_.messages;
  counts_.bytes += beat->size();
  const absl::Status sent = transport_->send(RelaySubject::kBeat, *beat);
  if (!sent.ok()) lose(sent);
  return absl::OkStatus();
}

// With until_closed.
void OutMachine::step_end() {
  const bool is_closed = (log_.is_open() && log_.is_closed) || (live_.is_open() && live_.is_closed);
  if (!options_.until_closed || !is_closed || !fatal_.ok()) return;
  if (closed_at_ns_ == 0) closed_at_ns_ = clock_.now_ns;
  const SessionRows& rows = messages_.rows();
  if (!rows.session(rows.count() - 1).end) {
    messages_.refresh(clock_.now_ns).IgnoreError();
  }
  const bool is_announced =
      rows.session(rows.count() - 1).end && log_.notices.empty() && log_.announced == rows.newest();
  is_done_ = log_.is_open() && log_.is_closed && !log_.held && is_announced &&
             sender_.is_following() && sender_.in_flight() == 0;
  if (is_done_ || clock_.now_ns - closed_at_ns_ < kFinishNsMax) return;
  fatal_ =
      make_error(Errc::kTimedOut,
                 absl::StrCat("the bus is closed, and the stream has not stored its last records (",
                              sender_.trouble().empty() ? "no acknowledgement" : sender_.trouble(),
                              "). Start the relay again once the stream works."));
}

}  // namespace lapwing
