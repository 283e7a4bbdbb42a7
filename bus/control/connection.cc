#include "bus/control/connection.h"

#include <sys/socket.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "bus/control/server.h"
#include "os/kernel.h"
#include "os/printable.h"
#include "os/process_state.h"
#include "proto/ring_layout.h"
#include "proto/text_field.h"

namespace lapwing {
namespace {

constexpr int kFramesPerTurn = 4;       // read from one client
constexpr int kListFramesPerTurn = 64;  // sent to one client

}  // namespace

ControlConnection::ControlConnection(ConnectionId id, ForeignSocket fd, const PeerCredentials& peer,
                                     ControlServer& server, ControlledPublisher& publisher)
    : id_(id),
      fd_(std::move(fd)),
      peer_(peer),
      server_(&server),
      publisher_(&publisher),
      connected_wall_ns_(wall_ns()),
      pid_(static_cast<std::uint32_t>(peer.pid)),
      heard_ns_(server.now_ns()) {}

SubscriberInfoFrame ControlConnection::info() const {
  SubscriberInfoFrame info = make_frame<SubscriberInfoFrame>(FrameType::kSubscriberInfo);
  const bool reported = reported_wall_ns_ != 0;
  info.pid = pid_;
  info.uid = peer_.uid;
  info.role = role_;
  info.state = reported ? report_.state : ClientState::kJoining;
  info.may_park = may_park_ ? 1 : 0;
  info.reported = reported ? 1 : 0;
  info.position = report_.position;
  info.records = report_.records;
  info.gaps = report_.gaps;
  info.lost = report_.lost;
  info.filled = report_.filled;
  info.connected_wall_ns = connected_wall_ns_;
  info.reported_wall_ns = reported_wall_ns_;
  info.head_seen = report_.head;
  info.wait = report_.wait;
  info.on_gap = report_.on_gap;
  info.observes = observes_ ? 1 : 0;
  info.pid_is_claimed = peer_.pid == 0 ? 1 : 0;
  info.process_start = process_start_;
  info.report_age_ns = std::max(server_->now_ns(), heard_ns_ + 1) - heard_ns_;
  set_text(info.name, name_);
  return info;
}

EventInfoFrame ControlConnection::event(BusEventKind kind) const {
  EventInfoFrame event = make_frame<EventInfoFrame>(FrameType::kEventInfo);
  event.kind = kind;
  event.pid = pid_;
  event.uid = peer_.uid;
  event.position = report_.position;
  event.records = report_.records;
  event.gaps = observes_ ? 0 : report_.gaps;
  event.lost = observes_ ? 0 : report_.lost;
  event.filled = report_.filled;
  set_text(event.name, name_);
  return event;
}

std::string ControlConnection::description() const {
  return absl::StrCat(name_.empty() ? "a client" : name_, " (pid ", pid_, ", user ", peer_.uid,
                      ")");
}

void ControlConnection::read_frames() {
  Packet packet;
  for (int i = 0; i < kFramesPerTurn && !ended(); ++i) {
    switch (receive_frame(fd(), packet)) {
      case ReceiveOutcome::kWouldBlock:
        return;
      case ReceiveOutcome::kClosed:
        return server_->end(*this);
      case ReceiveOutcome::kViolation:
        return violation("a packet is not a frame of the control protocol");
      case ReceiveOutcome::kFrame:
        break;
    }
    if (!frames_.admit(server_->now_ns())) {
      return server_->drop(*this, DropReason::kTooManyFrames, Errc::kLimit,
                           absl::StrCat("more than ", kFramesPerSecondMax, " frames in a second"));
    }
    handle(packet);
  }
}

void ControlConnection::handle(const Packet& packet) {
  const FrameType type = packet.as<FrameHeader>().type;
  if (greeted_ == (type == FrameType::kHello)) {
    return violation(greeted_ ? "a second Hello" : "the first frame is not a Hello");
  }
  switch (type) {
    case FrameType::kHello:
      return on_hello(packet.as<HelloFrame>());
    case FrameType::kFlush:
      return on_flush(packet.as<FlushFrame>());
    case FrameType::kReport:
      return on_report(packet.as<ReportFrame>());
    case FrameType::kListSubscribers:
      return on_list(packet.as<ListSubscribersFrame>());
    case FrameType::kPrune:
      return on_prune(packet.as<PruneFrame>());
    case FrameType::kListEvents:
      return on_list_events(packet.as<ListEventsFrame>());
    case FrameType::kLatencyReport:
      return on_latency(packet.as<LatencyReportFrame>());
    case FrameType::kForget:
      return on_forget(packet.as<ForgetFrame>());
    default:
      if (first_frame_bytes(type) == 0) return;  // from a newer client: counted and skipped
      return violation(
          absl::StrCat("a frame of type ", static_cast<int>(type), " is sent only by publishers"));
  }
}

void ControlConnection::on_hello(const HelloFrame& hello) {
  if (hello.abi_version != kAbiVersion) {
    return server_->drop(
        *this, DropReason::kAbiMismatch, Errc::kAbiMismatch,
        absl::StrCat("the publisher uses ABI version ", kAbiVersion, ", the client version ",
                     hello.abi_version, "; install the same release of Lapwing on both sides"));
  }
  const std::uint32_t newest = std::max(hello.version, 1U);
  const std::uint32_t oldest = std::max(hello.min_version, 1U);
  const std::uint32_t version = std::min(newest, kControlVersion);
  if (version < std::max(oldest, kServedVersionMin)) {
    return server_->drop(
        *this, DropReason::kAbiMismatch, Errc::kAbiMismatch,
        absl::StrCat("the publisher supports versions ", kServedVersionMin, " to ", kControlVersion,
                     " of the control protocol, the client ", oldest, " to ", newest,
                     "; install the same release of Lapwing on both sides"));
  }
  if (hello.role != ClientRole::kSubscriber && hello.role != ClientRole::kTool) {
    return violation("a Hello with an unknown role");
  }
  greeted_ = true;
  version_ = version;
  name_ = printable(get_text(hello.name));
  role_ = hello.role;
  may_park_ = hello.may_park != 0;
  observes_ = hello.observes != 0;
  // The kernel does not report the pid of a peer in another pid namespace. Use the pid in the
  // Hello.
  if (pid_ == 0) pid_ = hello.pid;
  server_->count_subscriber(*this);
  if (const std::string why = is_subscriber() ? server_->why_no_place() : ""; !why.empty()) {
    return server_->drop(*this, DropReason::kTooManyClients, Errc::kLimit, why);
  }
  if (is_subscriber()) {
    attached_ = true;
    if (peer_.pid != 0) process_start_ = identity_of(pid_).start_ticks;
    if (!observes_) server_->missing().remove_returned(peer_.uid, name_, pid_, process_start_);
    server_->events().add(event(BusEventKind::kAttached));
  }
  WelcomeFrame welcome = publisher_->welcome();
  welcome.header = make_frame<WelcomeFrame>(FrameType::kWelcome).header;
  welcome.version = version_;
  post(welcome);
}

void ControlConnection::on_flush(const FlushFrame& asked) {
  const WelcomeFrame now = publisher_->welcome();
  FlushFrame flush = asked;
  flush.through = std::min(asked.through, now.head);
  const JournalCondition journal{static_cast<JournalState>(now.journal_state), now.journal_errno};
  if (flush.through <= now.durable || journal.state != JournalState::kGood) {
    return answer_flush(flush, now.durable, journal);
  }
  if (flushes_.size() == kFlushesWaitingMax) {
    return server_->drop(*this, DropReason::kTooManyFrames, Errc::kLimit,
                         absl::StrCat("more than ", kFlushesWaitingMax, " flushes waiting"));
  }
  flushes_.push_back(flush);
  server_->want_flush(flush.through);
}

void ControlConnection::on_report(const ReportFrame& report) {
  if (report.state < ClientState::kJoining || report.state > ClientState::kStopped) {
    return violation("a Report with an unknown state");
  }
  if (!observes_) count_losses(report);
  report_ = report;
  reported_wall_ns_ = wall_ns();
  heard_ns_ = server_->now_ns();
}

// Counts the difference between this report and the last one.
void ControlConnection::count_losses(const ReportFrame& report) {
  const bool is_first = reported_wall_ns_ == 0;
  const auto since = [](std::uint64_t before, std::uint64_t now) {
    return now > before ? now - before : 0;
  };
  const std::uint64_t gaps = since(is_first ? report.gaps_before : report_.gaps, report.gaps);
  const std::uint64_t lost = since(is_first ? report.lost_before : report_.lost, report.lost);
  server_->count_losses(gaps, lost);
  if (!attached_ || (gaps == 0 && lost == 0)) return;
  EventInfoFrame loss = event(lost != 0 ? BusEventKind::kLoss : BusEventKind::kGap);
  loss.position = report.position;
  loss.records = report.records;
  loss.filled = report.filled;
  loss.gaps = gaps;
  loss.lost = lost;
  server_->events().add(loss);
}

void ControlConnection::on_latency(const LatencyReportFrame& latency) {
  latency_ = latency;
  latency_->header = make_frame<LatencyReportFrame>(FrameType::kLatencyReport).header;
}

// Replaces a list that has not ended, because its client no longer waits for it.
void ControlConnection::on_list(const ListSubscribersFrame& list) {
  list_ = {.end = server_->next_id(), .tag = list.tag};  // sent when the socket is writable
}

void ControlConnection::on_list_events(const ListEventsFrame& list) {
  const std::uint64_t newest = server_->events().newest();
  events_ = {.next = std::min(list.after, newest) + 1, .end = newest + 1, .tag = list.tag};
}

void ControlConnection::on_prune(const PruneFrame& prune) {
  if (!ControlServer::is_owner(peer_)) return answer_prune(prune.tag, 0, Errc::kNotPermitted);
  if (prune_tag_) return answer_prune(prune.tag, 0, Errc::kLimit);
  prune_tag_ = prune.tag;
  server_->want_prune(id_, prune.below);
}

void ControlConnection::on_forget(const ForgetFrame& forget) {
  ForgottenFrame answer = make_frame<ForgottenFrame>(FrameType::kForgotten);
  answer.tag = forget.tag;
  if (ControlServer::is_owner(peer_)) {
    answer.count = server_->forget(forget.all != 0, get_text(forget.name), *this);
  } else {
    answer.error = static_cast<std::uint32_t>(Errc::kNotPermitted);
  }
  post(answer);
}

std::size_t ControlConnection::answer_flushes(Sequence durable, JournalCondition journal) {
  std::vector<FlushFrame> answered;
  std::erase_if(flushes_, [&](const FlushFrame& flush) {
    if (flush.through > durable && journal.state == JournalState::kGood) return false;
    answered.push_back(flush);
    return true;
  });
  for (const FlushFrame& flush : answered) {
    if (!ended()) answer_flush(flush, durable, journal);
  }
  return answered.size();
}

void ControlConnection::answer_flush(const FlushFrame& flush, Sequence durable,
                                     JournalCondition journal) {
  if (flush.through <= durable) {
    FlushedFrame answer = make_frame<FlushedFrame>(FrameType::kFlushed);
    answer.tag = flush.tag;
    answer.durable = durable;
    return post(answer);
  }
  FlushFailedFrame answer = make_frame<FlushFailedFrame>(FrameType::kFlushFailed);
  answer.tag = flush.tag;
  answer.durable = durable;
  answer.journal_state = static_cast<std::uint32_t>(journal.state);
  answer.sys_errno = journal.sys_errno;
  post(answer);
}

void ControlConnection::answer_prune(Sequence oldest, Errc result) {
  if (prune_tag_) answer_prune(*std::exchange(prune_tag_, std::nullopt), oldest, result);
}

void ControlConnection::answer_prune(std::uint64_t tag, Sequence oldest, Errc result) {
  PrunedFrame answer = make_frame<PrunedFrame>(FrameType::kPruned);
  answer.oldest = oldest;
  answer.error = static_cast<std::uint32_t>(result);
  answer.tag = tag;
  post(answer);
}

void ControlConnection::write_frames() {
  if (!send_queued()) return server_->end(*this);
  if (queue_.empty() && list_) stream(list_, &ControlConnection::send_of_list);
  if (queue_.empty() && !list_ && events_) stream(events_, &ControlConnection::send_of_events);
}

// Bypasses the queue, because a client must not be dropped for a list longer than the queue.
void ControlConnection::stream(std::optional<ListCursor>& list,
                               SendOutcome (ControlConnection::*send_next)()) {
  for (int i = 0; i < kListFramesPerTurn && list; ++i) {
    const SendOutcome outcome = (this->*send_next)();
    if (outcome == SendOutcome::kClosed) return server_->end(*this);
    if (outcome == SendOutcome::kWouldBlock) return;
  }
}

SendOutcome ControlConnection::send_of_list() {
  const ControlConnection* const next = server_->next_subscriber(list_->next);
  if (next != nullptr && next->id() < list_->end) return send_subscriber(*next);
  const std::span<const SubscriberInfoFrame> missing = server_->missing().list();
  if (version_ >= kMissingVersionMin && list_->missing < missing.size()) {
    return send_missing(missing[list_->missing]);
  }
  const SendOutcome outcome = send(end_of_list());
  if (outcome == SendOutcome::kSent) list_.reset();
  return outcome;
}

// Sends the subscriber's information first and then, in a second call, its latency if there is one.
SendOutcome ControlConnection::send_subscriber(const ControlConnection& subscriber) {
  const bool sends_latency = version_ >= kEventsVersionMin && subscriber.latency().has_value();
  const bool is_rest = list_->is_halfway && list_->next == subscriber.id() && sends_latency;
  const auto with_tag = [&](auto frame) {
    frame.tag = list_->tag;
    return frame;
  };
  const SendOutcome outcome =
      is_rest ? send(with_tag(*subscriber.latency())) : send(with_tag(subscriber.info()));
  if (outcome != SendOutcome::kSent) return outcome;
  if (!is_rest) ++list_->count;
  list_->is_halfway = !is_rest && sends_latency;
  list_->next = subscriber.id() + (list_->is_halfway ? 0 : 1);
  return outcome;
}

SendOutcome ControlConnection::send_missing(const SubscriberInfoFrame& subscriber) {
  SubscriberInfoFrame frame = subscriber;
  frame.header = make_frame<SubscriberInfoFrame>(FrameType::kSubscriberInfo).header;
  frame.tag = list_->tag;
  const SendOutcome outcome = send(frame);
  if (outcome != SendOutcome::kSent) return outcome;
  ++list_->missing;
  ++list_->count;
  return outcome;
}

SendOutcome ControlConnection::send_of_events() {
  const EventInfoFrame* const next = server_->events().next(events_->next);
  if (next == nullptr || next->number >= events_->end) {
    const SendOutcome outcome = send(end_of_events());
    if (outcome == SendOutcome::kSent) events_.reset();
    return outcome;
  }
  EventInfoFrame frame = *next;
  frame.tag = events_->tag;
  const SendOutcome outcome = send(frame);
  if (outcome != SendOutcome::kSent) return outcome;
  events_->next = frame.number + 1;
  ++events_->count;
  return outcome;
}

EndOfListFrame ControlConnection::end_of_list() const {
  EndOfListFrame frame = make_frame<EndOfListFrame>(FrameType::kEndOfList);
  frame.count = list_->count;
  frame.tag = list_->tag;
  frame.refused = server_->drops().refused();
  frame.dropped = server_->drops().dropped();
  std::ranges::copy(server_->drops().counts(), frame.by_reason);
  return frame;
}

EndOfEventsFrame ControlConnection::end_of_events() const {
  EndOfEventsFrame frame = make_frame<EndOfEventsFrame>(FrameType::kEndOfEvents);
  frame.tag = events_->tag;
  frame.count = events_->count;
  frame.newest = events_->end - 1;
  return frame;
}

void ControlConnection::violation(const std::string& why) {
  server_->drop(*this, DropReason::kBadFrame, Errc::kProtocol, why);
}

void ControlConnection::post_bytes(std::span<const std::byte> frame) {
  if (queue_.empty()) {
    const SendOutcome outcome = send_frame(fd(), frame);
    if (outcome == SendOutcome::kSent) return;
    if (outcome == SendOutcome::kClosed) return server_->end(*this);
  }
  if (queue_.size() == kFramesQueuedMax) {
    return server_->drop(*this, DropReason::kQueueFull, Errc::kLimit,
                         absl::StrCat("more than ", kFramesQueuedMax, " answers were not read"));
  }
  queue_.emplace_back(frame.begin(), frame.end());
  server_->watch(*this);
}

// Sends as much of the queue as the socket accepts. Returns false if the client has disconnected.
bool ControlConnection::send_queued() {
  while (!queue_.empty()) {
    switch (send_frame(fd(), queue_.front())) {
      case SendOutcome::kSent:
        queue_.pop_front();
        break;
      case SendOutcome::kWouldBlock:
        return true;
      case SendOutcome::kClosed:
        return false;
    }
  }
  return true;
}

// A child of the publisher's process may also hold the socket: a forked child for a moment, and a
// child made by clone(). The client still detects the end, because reset() shuts the socket down.
void ControlConnection::close() {
  fd_.reset();
  flushes_.clear();
}

}  // namespace lapwing
