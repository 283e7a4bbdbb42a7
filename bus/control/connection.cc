#include "bus/control/connection.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bus/control/admission.h"
#include "bus/control/server.h"
#include "proto/ring_layout.h"
#include "proto/text_field.h"

namespace lapwing {
namespace {

constexpr int kFramesPerTurn = 4;  // read from one client

}  // namespace

ControlConnection::ControlConnection(ConnectionId id, ForeignSocket fd, const PeerCredentials& peer,
                                     ControlServer& server, ControlledPublisher& publisher)
    : id_(id),
      socket_(std::move(fd)),
      server_(&server),
      publisher_(&publisher),
      client_(peer, server.now_ns()),
      lists_(server) {}

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
  if (client_.greeted() == (type == FrameType::kHello)) {
    return violation(client_.greeted() ? "a second Hello" : "the first frame is not a Hello");
  }
  switch (type) {
    case FrameType::kHello:
      return on_hello(packet.as<HelloFrame>());
    case FrameType::kFlush:
      return on_flush(packet.as<FlushFrame>());
    case FrameType::kReport:
      return on_report(packet.as<ReportFrame>());
    case FrameType::kListSubscribers:
      return lists_.start(packet.as<ListSubscribersFrame>());
    case FrameType::kPrune:
      return on_prune(packet.as<PruneFrame>());
    case FrameType::kListEvents:
      return lists_.start(packet.as<ListEventsFrame>());
    case FrameType::kLatencyReport:
      return client_.update(packet.as<LatencyReportFrame>());
    case FrameType::kForget:
      return on_forget(packet.as<ForgetFrame>());
    default:
      if (first_frame_bytes(type) == 0) return;  // a newer client's: counted, and skipped
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
  socket_.set_version(version);
  client_.greet(hello);
  if (client_.is_subscriber()) {
    ConnectionTable& connections = server_->connections();
    connections.count_subscriber(*this);
    if (const std::optional<Refusal> refusal = refusal_of_subscriber(connections)) {
      return server_->drop(*this, refusal->reason, refusal->error, refusal->why);
    }
    client_.attach();
    if (!client_.observes()) {
      server_->missing().remove_returned(client_.peer().uid, client_.name(), client_.pid(),
                                         client_.process_start());
    }
    server_->events().add(client_.event(BusEventKind::kAttached));
  }
  WelcomeFrame welcome = publisher_->welcome();
  welcome.header = make_frame<WelcomeFrame>(FrameType::kWelcome).header;
  welcome.version = version;
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
  const Losses losses = client_.update(report, server_->now_ns());
  server_->count_losses(losses);
  if (!client_.attached() || (losses.gaps == 0 && losses.lost == 0)) return;
  EventInfoFrame loss = client_.event(losses.lost != 0 ? BusEventKind::kLoss : BusEventKind::kGap);
  loss.gaps = losses.gaps;
  loss.lost = losses.lost;
  server_->events().add(loss);
}

void ControlConnection::on_prune(const PruneFrame& prune) {
  if (!is_bus_owner(client_.peer())) return answer_prune(prune.tag, 0, Errc::kNotPermitted);
  if (prune_tag_) return answer_prune(prune.tag, 0, Errc::kLimit);
  prune_tag_ = prune.tag;
  server_->want_prune(id_, prune.below);
}

void ControlConnection::on_forget(const ForgetFrame& forget) {
  ForgottenFrame answer = make_frame<ForgottenFrame>(FrameType::kForgotten);
  answer.tag = forget.tag;
  if (!is_bus_owner(client_.peer())) {
    answer.error = static_cast<std::uint32_t>(Errc::kNotPermitted);
    return post(answer);
  }
  MissingSubscribers& missing = server_->missing();
  const std::vector<SubscriberInfoFrame> forgotten =
      forget.all != 0 ? missing.forget_all() : missing.forget(get_text(forget.name));
  for (const SubscriberInfoFrame& subscriber : forgotten) {
    EventInfoFrame event = event_of_missing(BusEventKind::kForgotten, subscriber);
    set_text(event.text, client_.description());
    server_->events().add(event);
  }
  answer.count = forgotten.size();
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
  SendOutcome outcome = socket_.send_queued();
  if (outcome == SendOutcome::kSent) outcome = lists_.send(socket_);
  if (outcome == SendOutcome::kClosed) server_->end(*this);
}

void ControlConnection::violation(const std::string& why) {
  server_->drop(*this, DropReason::kBadFrame, Errc::kProtocol, why);
}

void ControlConnection::on_posted(PostOutcome outcome) {
  switch (outcome) {
    case PostOutcome::kSent:
      return;
    case PostOutcome::kQueued:
      return server_->watch(*this);
    case PostOutcome::kFull:
      return server_->drop(*this, DropReason::kQueueFull, Errc::kLimit,
                           absl::StrCat("more than ", kFramesQueuedMax, " answers were not read"));
    case PostOutcome::kClosed:
      return server_->end(*this);
  }
}

void ControlConnection::close() {
  socket_.close();
  flushes_.clear();
}

}  // namespace lapwing
