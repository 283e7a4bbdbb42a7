#include "relay/in/stream_side.h"

#include <poll.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "lapwing/error.h"
#include "os/kernel.h"
#include "os/start_thread.h"
#include "relay/message.h"

namespace lapwing {
namespace {

constexpr int kArrivalsPerStep = 64;

std::optional<RecordPlace> place_of(const OriginSessions& sessions,
                                    std::span<const std::byte> bytes) {
  const absl::StatusOr<RelayMessage> message = parse_message(bytes);
  if (!message.ok() || message->skipped()) return std::nullopt;
  const RelayHeader& header = message->header;
  if (header.kind != RelayKind::kRecords || sessions.empty()) return std::nullopt;
  const Sequence last = header.first + header.count - 1;
  if (const auto position = sessions.position(header.session_id)) {
    return RecordPlace{sessions.list()[*position].begin_row, header.first, last};
  }
  // Of a session before the first listed one, or behind the last one.
  if (header.session_row < sessions.list().front().begin_row) return RecordPlace{0, 0, 0};
  if (header.session_row <= sessions.row()) return std::nullopt;
  return RecordPlace{std::numeric_limits<std::uint64_t>::max(), header.first, last};
}

}  // namespace

void StreamSide::want(std::optional<StreamWant> want) {
  const std::lock_guard lock(mutex_);
  const bool is_new =
      want.has_value() != want_.has_value() ||
      (want && (want->generation != want_->generation || want->hole != want_->hole ||
                want->follows != want_->follows || wanted_at_ != items_taken_));
  want_ = std::move(want);
  wanted_at_ = items_taken_;
  if (is_new && wake_.get() >= 0) signal_eventfd(wake_.get());
}

std::optional<StreamItem> StreamSide::take() {
  const std::lock_guard lock(mutex_);
  if (items_.empty()) return std::nullopt;
  StreamItem item = std::move(items_.front());
  items_.pop_front();
  ++items_taken_;
  const bool was_full = waiting_bytes_ >= kWaitingBytesMax;
  waiting_bytes_ -= item.message.size();
  if (was_full && waiting_bytes_ < kWaitingBytesMax && wake_.get() >= 0) {
    signal_eventfd(wake_.get());
  }
  return item;
}

void StreamSide::put(StreamItem item) {
  const std::lock_guard lock(mutex_);
  waiting_bytes_ += item.message.size();
  items_.push_back(std::move(item));
  ++items_put_;
  if (owner_fd_ >= 0) signal_eventfd(owner_fd_);
}

void StreamSide::put_findings() {
  StreamFindings findings = reader_.take_findings();
  if (findings.lacks.empty() && !findings.is_unreachable) return;
  put({generation_, {}, 0, std::move(findings)});
}

bool StreamSide::has_room() const {
  const std::lock_guard lock(mutex_);
  return waiting_bytes_ < kWaitingBytesMax;
}

bool StreamSide::is_current() const {
  const std::lock_guard lock(mutex_);
  return wanted_at_ == items_put_;
}

std::uint64_t StreamSide::dropped() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

void StreamSide::step(std::uint64_t now_ns) {
  std::optional<StreamWant> want;
  {
    const std::lock_guard lock(mutex_);
    want = want_;
  }
  if (!want) {
    if (link_.is_connected()) reader_.stop(*link_.transport());
    const bool is_unused = now_ns - idle_since_ns_ >= kIdleNs;
    if (link_.is_connected() && is_unused) link_.close(now_ns);
    return;
  }
  idle_since_ns_ = now_ns;
  if (generation_ != want->generation) {
    if (link_.is_connected()) reader_.stop(*link_.transport());
    generation_ = want->generation;
  }
  link_.try_connect(now_ns);
  const absl::Status status =
      link_.is_connected() ? read(*want, now_ns) : make_error(Errc::kPeerGone, link_.reason());
  if (!status.ok()) {
    link_.lose(status, now_ns);
    reader_.ended(now_ns);
    put({generation_, {}, 0, {.lacks = {}, .is_unreachable = true}});
  }
  put_findings();
  const std::lock_guard lock(mutex_);
  dropped_ = link_.dropped();
}

absl::Status StreamSide::read(const StreamWant& want, std::uint64_t now_ns) {
  RelayTransport& transport = *link_.transport();
  if (absl::Status status = receive(want, now_ns); !status.ok()) return status;
  if (!has_room()) reader_.pause(now_ns);
  if (absl::Status status = reader_.expire(transport, now_ns); !status.ok()) return status;
  const bool is_hole_passed = want.hole != 0 && is_current() && reader_.has_passed(want.hole);
  if (is_hole_passed) {
    reader_.stop(transport);
    reader_.ended(now_ns);  // a pause between two attempts
  }
  if (!reader_.may_begin(now_ns) || !has_room()) return absl::OkStatus();
  if (!is_current() || (want.hole == 0 && !want.follows)) return absl::OkStatus();
  const auto place = [&](std::span<const std::byte> bytes) {
    return place_of(*want.sessions, bytes);
  };
  return reader_.begin(transport, want.session_row, want.hole != 0 ? want.hole : want.begin,
                       want.follows, place, now_ns);
}

absl::Status StreamSide::receive(const StreamWant& want, std::uint64_t now_ns) {
  RelayTransport& transport = *link_.transport();
  for (int i = 0; i < kArrivalsPerStep && has_room(); ++i) {
    const absl::StatusOr<std::optional<RelayArrival>> arrival = transport.take(Deadline::now());
    if (errc_of(arrival.status()) == Errc::kWouldBlock) break;
    if (!arrival.ok()) return arrival.status();
    if (!*arrival) break;
    if ((*arrival)->kind == RelayArrivalKind::kReadEnded) reader_.ended(now_ns);
    if ((*arrival)->kind != RelayArrivalKind::kStored) continue;
    const std::uint64_t sequence = (*arrival)->stream_sequence;
    const std::span<const std::byte> bytes = (*arrival)->message;
    const std::optional<RecordPlace> place = place_of(*want.sessions, bytes);
    // Before its findings: what is behind them was seen.
    put({generation_, {bytes.begin(), bytes.end()}, sequence, {}});
    absl::Status taken =
        reader_.take(transport, sequence, (*arrival)->stream_pending, place, now_ns);
    if (!taken.ok()) return taken;
    put_findings();
  }
  return absl::OkStatus();
}

std::optional<std::uint64_t> StreamSide::next_due_ns() const {
  std::optional<std::uint64_t> due = reader_.next_due_ns();
  if (const auto link_due = link_.next_due_ns()) due = std::min(due.value_or(*link_due), *link_due);
  return due;
}

absl::Status StreamSide::start(int owner_fd) {
  absl::StatusOr<UniqueFd> wake = make_eventfd();
  if (!wake.ok()) return wake.status();
  {
    const std::lock_guard lock(mutex_);
    wake_ = *std::move(wake);
    owner_fd_ = owner_fd;
    is_stopped_ = false;
  }
  return start_thread(thread_, "lapwing-stream", [this] { run(); });
}

void StreamSide::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
    signal_eventfd(wake_.get());
  }
  thread_.join();
}

void StreamSide::run() {
  for (;;) {
    const std::uint64_t now_ns = monotonic_ns();
    drain_eventfd(wake_.get());
    {
      const std::lock_guard lock(mutex_);
      if (is_stopped_) return;
    }
    step(now_ns);
    // A full queue waits for take().
    const bool has_arrivals = link_.is_connected() && has_room();
    pollfd entries[] = {{wake_.get(), POLLIN, 0},
                        {has_arrivals ? link_.transport()->fd() : -1, POLLIN, 0}};
    const std::uint64_t due_ns = next_due_ns().value_or(now_ns + StreamReader::kSilenceNs);
    wait_any_readable(entries,
                      std::clamp(due_ns, now_ns + kNsPerMs, now_ns + StreamReader::kSilenceNs));
  }
}

}  // namespace lapwing
