#include "relay/in/relay_in.h"

#include <poll.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/kernel.h"

namespace lapwing {
namespace {

MirrorFeedOptions feed_options(const RelayInOptions& options) {
  MirrorFeedOptions feed;
  feed.start = options.start;
  feed.missing.give_up_ns = ns_of(options.give_up);
  feed.held_bytes_max = options.held_bytes_max;
  feed.mirror_wait = options.mirror_wait;
  return feed;
}

constexpr RelaySubject kCoreSubjects[] = {RelaySubject::kLog, RelaySubject::kLive,
                                          RelaySubject::kBeat};
// Trouble with the stream never stops live.
constexpr RelaySubject kStreamSubjects[] = {RelaySubject::kLive, RelaySubject::kBeat};
constexpr RelaySubject kLogSubject[] = {RelaySubject::kLog};
constexpr RelaySubject kAskSubject[] = {RelaySubject::kAsk};

// A connection's end, and calls that a slow server did not answer.
bool is_of_connection(const absl::Status& status) {
  return errc_of(status) == Errc::kPeerGone || errc_of(status) == Errc::kTimedOut;
}

}  // namespace

RelayIn::RelayIn(const RelayInOptions& options, ConnectRelay connect, MirrorWriter& mirror)
    : options_(options),
      mirror_(mirror),
      link_(connect, options.seed),
      path_(options.path),
      feed_(feed_options(options), mirror, sessions_, watch_),
      desk_(feed_, sessions_, options.on_checkpoint),
      stream_(std::move(connect), options.seed + 1) {}

void RelayIn::log(const std::string& line) const {
  if (options_.log) options_.log(line);
}

absl::Status RelayIn::step(std::uint64_t now_ns) {
  if (link_.try_connect(now_ns)) {
    if (absl::Status status = settle(connected(now_ns), now_ns); !status.ok()) return status;
  }
  if (!was_connected_ && !link_.refusal().ok()) return link_.refusal();
  if (absl::Status status = settle(receive(now_ns), now_ns); !status.ok()) return status;
  if (absl::Status status = feed_.advance(now_ns); !status.ok()) return status;
  if (absl::Status status = settle(fetch(now_ns), now_ns); !status.ok()) return status;
  show_state(now_ns);
  return absl::OkStatus();
}

absl::Status RelayIn::settle(const absl::Status& status, std::uint64_t now_ns) {
  if (status.ok() || !is_of_connection(status)) return status;
  link_.lose(status, now_ns);
  desk_.connection_lost(now_ns);
  return absl::OkStatus();
}

absl::Status RelayIn::connected(std::uint64_t now_ns) {
  was_connected_ = true;
  choose_path(now_ns);
  RelayTransport& transport = *link_.transport();
  const bool is_core = path_ == RelayPath::kCore;
  absl::Status status =
      is_core ? transport.listen(kCoreSubjects) : transport.listen(kStreamSubjects);
  if (status.ok() && options_.serve) status = transport.listen(kAskSubject);
  if (!status.ok()) return status;
  desk_.want_sessions();
  feed_.missing().try_stream_again(now_ns);
  return absl::OkStatus();
}

void RelayIn::choose_path(std::uint64_t now_ns) {
  if (path_ == RelayPath::kStream || link_.cuts(now_ns) < kCutsToStream) return;
  path_ = RelayPath::kStream;
  path_since_ns_ = now_ns;
  log(absl::StrCat("relay in: ", kCutsToStream,
                   " connections were lost within a minute; records are read from the stream now"));
}

// Once connections last again.
absl::Status RelayIn::return_to_core(std::uint64_t now_ns) {
  const bool is_due = path_ != options_.path && link_.is_connected() && link_.cuts(now_ns) == 0 &&
                      now_ns - path_since_ns_ >= kBackToCoreNs;
  if (!is_due) return absl::OkStatus();
  path_ = options_.path;
  log("relay in: connections last again; records come on log and live");
  return link_.transport()->listen(kLogSubject);
}

absl::Status RelayIn::receive(std::uint64_t now_ns) {
  for (int i = 0; i < kArrivalsPerStep && link_.is_connected(); ++i) {
    absl::StatusOr<std::optional<RelayArrival>> arrival = link_.transport()->take(Deadline::now());
    if (errc_of(arrival.status()) == Errc::kWouldBlock) break;
    if (!arrival.ok()) return arrival.status();
    if (!*arrival) break;
    if (absl::Status status = take(**arrival, now_ns); !status.ok()) return status;
  }
  if (absl::Status status = take_stream(now_ns); !status.ok()) return status;
  return take_waiting(now_ns);
}

absl::Status RelayIn::take(const RelayArrival& arrival, std::uint64_t now_ns) {
  const absl::StatusOr<RelayMessage> message = parse_message(arrival.message);
  if (!message.ok()) ++malformed_;
  if (!message.ok() || message->skipped()) return absl::OkStatus();
  return arrival.kind == RelayArrivalKind::kPublished ? take_published(arrival, *message, now_ns)
                                                      : take_answer(arrival, *message, now_ns);
}

absl::Status RelayIn::take_published(const RelayArrival& arrival, const RelayMessage& message,
                                     std::uint64_t now_ns) {
  switch (arrival.subject) {
    case RelaySubject::kLog:
    case RelaySubject::kLive: {
      const bool is_log = arrival.subject == RelaySubject::kLog;
      const RelaySource source{is_log ? RelaySource::Kind::kLog : RelaySource::Kind::kLive, 0};
      return take_notice(message, arrival.message, source, now_ns);
    }
    case RelaySubject::kBeat:
      if (message.header.kind == RelayKind::kBeat) {
        take_beat(message.header, message.beat(), now_ns);
      }
      break;
    case RelaySubject::kAsk:
      if (message.header.kind == RelayKind::kAsk && options_.serve &&
          message.ask().to != RelayAskee::kOrigin && !arrival.reply_to.empty()) {
        options_.serve(*link_.transport(), arrival.reply_to, message);
      }
      break;
  }
  return absl::OkStatus();
}

// A message of the origin that nobody asked for.
absl::Status RelayIn::take_notice(const RelayMessage& message, std::span<const std::byte> bytes,
                                  const RelaySource& source, std::uint64_t now_ns) {
  switch (message.header.kind) {
    case RelayKind::kRecords:
      return take_records(message, bytes, source, now_ns);
    case RelayKind::kSessions:
      return take_sessions(message, now_ns);
    case RelayKind::kBus: {
      const bool is_of_session =
          feed_.session() != nullptr && feed_.session()->session_id == message.header.session_id;
      if (is_of_session && fits(message.header)) feed_.give_bus(message.bus());
      return absl::OkStatus();
    }
    default:
      return absl::OkStatus();
  }
}

bool RelayIn::fits(const RelayHeader& header) const {
  return sessions_.fit(header.session_row, header.session_hash) == SessionFit::kFits;
}

// The origin sends its new rows before the first record of a session.
absl::Status RelayIn::take_sessions(const RelayMessage& message, std::uint64_t now_ns) {
  const RelayHeader& header = message.header;
  if (sessions_.fit(header.session_row, header.session_hash) != SessionFit::kNewer) {
    return absl::OkStatus();
  }
  std::vector<RelaySession> rows(header.count);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = message.session(i);
  if (!sessions_.extend(rows, header.session_row, header.session_hash)) {
    desk_.want_sessions();
    return absl::OkStatus();
  }
  if (absl::Status status = feed_.sessions_changed(); !status.ok()) return status;
  return feed_.advance(now_ns);
}

absl::Status RelayIn::take_stream(std::uint64_t now_ns) {
  for (int i = 0; i < kArrivalsPerStep && !feed_.is_full(); ++i) {
    const std::optional<StreamItem> item = stream_.take();
    if (!item) break;
    const bool is_current = item->generation == feed_.generation();
    if (!item->message.empty()) {
      const absl::StatusOr<RelayMessage> message = parse_message(item->message);
      if (!message.ok()) ++malformed_;
      if (!message.ok() || message->skipped()) continue;
      const RelaySource source{RelaySource::Kind::kStream, item->stream_sequence};
      absl::Status taken = take_notice(*message, item->message, source, now_ns);
      if (!taken.ok()) return taken;
      continue;
    }
    // What the stream of another session lacks is not known to this one.
    if (!is_current) continue;
    for (const RelayRange& range : item->findings.lacks)
      feed_.missing().stream_lacks(range, now_ns);
    if (item->findings.is_unreachable) feed_.missing().stream_is_unreachable(now_ns);
  }
  return absl::OkStatus();
}

absl::Status RelayIn::take_answer(const RelayArrival& arrival, const RelayMessage& message,
                                  std::uint64_t now_ns) {
  const RelayAsk* const ask = desk_.find(arrival.ask);
  const bool is_mirrors = ask != nullptr && ask->to == RelayAskee::kMirrors;
  if (message.header.kind == RelayKind::kRecords) {
    const RelaySource source{is_mirrors ? RelaySource::Kind::kMirrors : RelaySource::Kind::kOrigin,
                             0};
    absl::Status taken = take_records(message, arrival.message, source, now_ns);
    if (!taken.ok()) return taken;
  }
  if (message.header.kind == RelayKind::kGone && !fits(message.header)) {
    desk_.want_sessions();
    return absl::OkStatus();
  }
  return desk_.take(arrival.ask, message, now_ns);
}

absl::Status RelayIn::take_records(const RelayMessage& message, std::span<const std::byte> bytes,
                                   const RelaySource& source, std::uint64_t now_ns) {
  const absl::StatusOr<MessageVerdict> verdict = feed_.take(message, source, now_ns);
  if (!verdict.ok() || *verdict != MessageVerdict::kSessions) return verdict.status();
  desk_.want_sessions();
  if (waiting_bytes_ + bytes.size() > kWaitingBytesMax) return absl::OkStatus();
  waiting_.push_back({{bytes.begin(), bytes.end()}, source});
  waiting_bytes_ += bytes.size();
  return absl::OkStatus();
}

// After the sessions were fetched.
absl::Status RelayIn::take_waiting(std::uint64_t now_ns) {
  if (sessions_row_ == sessions_.row() || sessions_.empty()) return absl::OkStatus();
  sessions_row_ = sessions_.row();
  if (waiting_beat_) {
    const WaitingBeat beat = *std::exchange(waiting_beat_, std::nullopt);
    take_beat(beat.header, beat.beat, beat.at_ns);
  }
  if (absl::Status status = feed_.advance(now_ns); !status.ok()) return status;
  const std::deque<Waiting> waiting = std::exchange(waiting_, {});
  waiting_bytes_ = 0;
  for (const Waiting& each : waiting) {
    const absl::StatusOr<RelayMessage> message = parse_message(each.message);
    if (!message.ok()) continue;
    absl::Status taken = take_records(*message, each.message, each.source, now_ns);
    if (!taken.ok()) return taken;
  }
  return absl::OkStatus();
}

void RelayIn::take_beat(const RelayHeader& header, const RelayBeat& beat, std::uint64_t now_ns) {
  switch (sessions_.fit(header.session_row, header.session_hash)) {
    case SessionFit::kFits:
      if (watch_.beat(header, beat, now_ns)) mirror_.set_origin(watch_.origin());
      return;
    case SessionFit::kNewer:
      waiting_beat_ = {header, beat, now_ns};
      desk_.want_sessions();
      return;
    case SessionFit::kUnknown:
    case SessionFit::kForeign:
      break;
  }
  ++foreign_;
  if (now_ns < foreign_due_ns_) return;
  foreign_due_ns_ = now_ns + kNsPerSecond;
  desk_.want_sessions();
}

absl::Status RelayIn::fetch(std::uint64_t now_ns) {
  {
    const std::lock_guard lock(flush_mutex_);
    if (flush_wanted_ != 0) desk_.want_flush(std::exchange(flush_wanted_, 0));
  }
  desk_.expire(now_ns);
  want_stream(now_ns);
  if (!stream_.has_thread()) stream_.step(now_ns);
  if (!link_.is_connected()) return absl::OkStatus();
  if (absl::Status status = return_to_core(now_ns); !status.ok()) return status;
  return desk_.send(*link_.transport(), now_ns);
}

void RelayIn::want_stream(std::uint64_t now_ns) {
  const bool follows = path_ == RelayPath::kStream;
  Missing& missing = feed_.missing();
  if (feed_.session() == nullptr || (!follows && !missing.has_for_stream())) {
    stream_.want(std::nullopt);
    return;
  }
  if (placed_by_ == nullptr || placed_by_->row() != sessions_.row() ||
      placed_by_->hash() != sessions_.hash()) {
    placed_by_ = std::make_shared<const OriginSessions>(sessions_);
  }
  const std::optional<RelayRange> hole = missing.for_stream(now_ns);
  StreamWant want;
  want.sessions = placed_by_;
  want.generation = feed_.generation();
  want.session_row = feed_.session()->begin_row;
  want.begin = feed_.place()->next;
  want.follows = follows;
  want.hole = hole ? hole->first : kNoSequence;
  stream_.want(std::move(want));
}

void RelayIn::show_state(std::uint64_t now_ns) {
  const std::string stale = watch_.stale_reason(now_ns, link_.reason());
  if (stale.empty() == stale_.empty()) return;
  stale_ = stale;
  log(stale.empty() ? "relay in: the origin is live" : absl::StrCat("relay in: stale: ", stale));
}

void RelayIn::want_flush(Sequence through) {
  const std::lock_guard lock(flush_mutex_);
  flush_wanted_ = std::max(flush_wanted_, through);
  if (wake_.get() >= 0) signal_eventfd(wake_.get());
}

std::uint64_t RelayIn::next_due_ns(std::uint64_t now_ns) const {
  std::uint64_t due = now_ns + kBeatIntervalNs;
  for (const std::optional<std::uint64_t>& each :
       {link_.next_due_ns(), feed_.next_due_ns(), desk_.next_due_ns(),
        watch_.next_due_ns(now_ns)}) {
    if (each && *each > now_ns) due = std::min(due, *each);
  }
  return due;
}

RelayInStatus RelayIn::status(std::uint64_t now_ns) const {
  RelayInStatus status;
  status.path = path_;
  status.is_connected = link_.is_connected();
  status.stale = watch_.stale_reason(now_ns, link_.reason());
  if (feed_.session() != nullptr) status.session_id = feed_.session()->session_id;
  if (feed_.place()) status.next = feed_.place()->next;
  status.counts = feed_.counts();
  status.asks = desk_.sent();
  status.cuts = link_.cuts_total();
  status.dropped = link_.dropped() + stream_.dropped() + feed_.dropped();
  status.malformed = malformed_;
  status.foreign = foreign_;
  return status;
}

absl::Status RelayIn::run(int stop_fd) {
  absl::StatusOr<UniqueFd> wake = make_eventfd();
  if (!wake.ok()) return wake.status();
  {
    const std::lock_guard lock(flush_mutex_);
    wake_ = *std::move(wake);
  }
  if (absl::Status status = stream_.start(wake_.get()); !status.ok()) return status;
  const absl::Status ended = run_until(stop_fd);
  stream_.stop();
  return ended;
}

absl::Status RelayIn::run_until(int stop_fd) {
  for (;;) {
    const std::uint64_t now_ns = monotonic_ns();
    drain_eventfd(wake_.get());
    if (options_.tick) options_.tick();
    if (absl::Status status = step(now_ns); !status.ok()) return status;
    const int transport_fd = link_.is_connected() ? link_.transport()->fd() : -1;
    pollfd entries[] = {{stop_fd, POLLIN, 0}, {wake_.get(), POLLIN, 0}, {transport_fd, POLLIN, 0}};
    wait_any_readable(entries, next_due_ns(now_ns));
    if (entries[0].revents != 0) return absl::OkStatus();
  }
}

}  // namespace lapwing
