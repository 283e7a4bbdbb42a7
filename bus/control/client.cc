#include "bus/control/client.h"

#include <poll.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "bus/control/event_log.h"
#include "lapwing/error.h"
#include "os/kernel.h"
#include "os/printable.h"
#include "os/system_error.h"
#include "proto/text_field.h"

namespace lapwing {
namespace {

// A deadline that has passed, so a call polls once and does not wait.
constexpr std::uint64_t kNoWait = 0;

// The most frames that one call skips without waiting. The next call continues.
constexpr int kFramesPassedMax = 64;

// An unknown state is a protocol violation, because its meaning cannot be guessed.
bool is_known(std::uint32_t journal_state) {
  return journal_state <= static_cast<std::uint32_t>(JournalState::kShed);
}

template <typename Frame>
std::span<const std::byte> bytes_of(const Frame& frame) {
  return std::as_bytes(std::span(&frame, 1));
}

// Returns the tag of a frame that answers a request, or 0 for any other frame.
std::uint64_t tag_of_answer(FrameType type, const Packet& packet) {
  switch (type) {
    case FrameType::kFlushed:
      return packet.as<FlushedFrame>().tag;
    case FrameType::kFlushFailed:
      return packet.as<FlushFailedFrame>().tag;
    case FrameType::kSubscriberInfo:
      return packet.as<SubscriberInfoFrame>().tag;
    case FrameType::kEndOfList:
      return packet.as<EndOfListFrame>().tag;
    case FrameType::kPruned:
      return packet.as<PrunedFrame>().tag;
    case FrameType::kEventInfo:
      return packet.as<EventInfoFrame>().tag;
    case FrameType::kEndOfEvents:
      return packet.as<EndOfEventsFrame>().tag;
    case FrameType::kLatencyReport:
      return packet.as<LatencyReportFrame>().tag;
    case FrameType::kForgotten:
      return packet.as<ForgottenFrame>().tag;
    default:
      return 0;
  }
}

}  // namespace

absl::StatusOr<ControlClient> ControlClient::connect(const ClientOptions& options,
                                                     std::uint64_t deadline_ns) {
  absl::StatusOr<UniqueFd> fd = connect_control(options.path, deadline_ns);
  if (!fd.ok()) return fd.status();
  ControlClient client(*std::move(fd), options.path);
  if (absl::Status said = client.say_hello(options, deadline_ns); !said.ok()) return said;
  if (absl::Status taken = client.take_welcome(deadline_ns); !taken.ok()) return taken;
  return client;
}

absl::StatusOr<ControlClient> ControlClient::begin(const ClientOptions& options) {
  absl::StatusOr<UniqueFd> fd = connect_control(options.path, kNoWait);
  if (!fd.ok()) return fd.status();
  ControlClient client(*std::move(fd), options.path);
  if (absl::Status said = client.say_hello(options, kNoWait); !said.ok()) return said;
  return client;
}

absl::StatusOr<bool> ControlClient::welcomed() {
  absl::Status taken = take_welcome(kNoWait);
  if (taken.ok()) return true;
  if (errc_of(taken) == Errc::kTimedOut) return false;
  return taken;
}

absl::Status ControlClient::say_hello(const ClientOptions& options, std::uint64_t deadline_ns) {
  HelloFrame hello = make_frame<HelloFrame>(FrameType::kHello);
  hello.abi_version = kAbiVersion;
  hello.role = options.role;
  hello.pid = static_cast<std::uint32_t>(getpid());
  hello.may_park = options.may_park ? 1 : 0;
  hello.observes = options.observes ? 1 : 0;
  set_text(hello.name, options.name);
  hello.version = kControlVersion;
  hello.min_version = kClientVersionMin;
  // A publisher that refuses this client may have closed the socket before the Hello was sent. Its
  // reason can still be read.
  absl::Status sent = send(bytes_of(hello), deadline_ns);
  return errc_of(sent) == Errc::kPublisherGone ? absl::OkStatus() : sent;
}

absl::Status ControlClient::take_welcome(std::uint64_t deadline_ns) {
  Packet packet;
  const absl::StatusOr<FrameType> type = receive(packet, deadline_ns);
  if (!type.ok()) return type.status();
  if (*type != FrameType::kWelcome) return violation(*type);
  welcome_ = packet.as<WelcomeFrame>();
  if (welcome_.version < kClientVersionMin || welcome_.version > kControlVersion) {
    return make_error(Errc::kAbiMismatch,
                      absl::StrCat("the publisher at ", path_, " chose version ", welcome_.version,
                                   " of the control protocol, but this program supports ",
                                   kClientVersionMin, " to ", kControlVersion,
                                   "; install the same release of Lapwing on both sides"));
  }
  return is_known(welcome_.journal_state) ? absl::OkStatus() : violation(*type);
}

absl::StatusOr<FlushAnswer> ControlClient::flush(Sequence through, std::uint64_t deadline_ns) {
  if (absl::Status asked = ask_flush(through, deadline_ns); !asked.ok()) return asked;
  return take_flush_answer(deadline_ns);
}

absl::Status ControlClient::begin_flush(Sequence through) {
  return ask_flush(through, kNoWait);
}

absl::StatusOr<std::optional<FlushAnswer>> ControlClient::flush_answer() {
  absl::StatusOr<FlushAnswer> answer = take_flush_answer(kNoWait);
  if (answer.ok()) return std::optional<FlushAnswer>(*answer);
  if (errc_of(answer.status()) == Errc::kTimedOut) return std::optional<FlushAnswer>();
  return answer.status();
}

absl::Status ControlClient::ask_flush(Sequence through, std::uint64_t deadline_ns) {
  FlushFrame flush = make_frame<FlushFrame>(FrameType::kFlush);
  flush.tag = flush_tag_ = ++tag_;
  flush.through = through;
  return send(bytes_of(flush), deadline_ns);
}

absl::StatusOr<FlushAnswer> ControlClient::take_flush_answer(std::uint64_t deadline_ns) {
  Packet packet;
  const absl::StatusOr<FrameType> type = receive_answer(packet, flush_tag_, deadline_ns);
  if (!type.ok()) return type.status();
  if (*type == FrameType::kFlushed) {
    return FlushAnswer{true, packet.as<FlushedFrame>().durable, 0, JournalState::kGood};
  }
  const FlushFailedFrame failed = packet.as<FlushFailedFrame>();
  if (*type != FrameType::kFlushFailed || !is_known(failed.journal_state)) return violation(*type);
  return FlushAnswer{false, failed.durable, failed.sys_errno,
                     static_cast<JournalState>(failed.journal_state)};
}

void ControlClient::report(const ReportFrame& report) {
  ReportFrame frame = report;
  frame.header = make_frame<ReportFrame>(FrameType::kReport).header;
  send_frame(fd_.get(), frame);
}

void ControlClient::report(const LatencyReportFrame& latency) {
  if (welcome_.version < kEventsVersionMin) return;
  LatencyReportFrame frame = latency;
  frame.header = make_frame<LatencyReportFrame>(FrameType::kLatencyReport).header;
  send_frame(fd_.get(), frame);
}

bool ControlClient::publisher_gone() {
  if (!fd_.valid()) return true;
  Packet packet;
  for (int i = 0; i < kFramesPassedMax; ++i) {
    switch (receive_frame(fd_.get(), packet)) {
      case ReceiveOutcome::kFrame:
        break;
      case ReceiveOutcome::kWouldBlock:
        return false;
      case ReceiveOutcome::kClosed:
        return true;
      case ReceiveOutcome::kViolation:
        return true;  // the peer is not a publisher
    }
  }
  return false;
}

absl::StatusOr<ControlClient::SubscriberList> ControlClient::list_subscribers(
    std::uint64_t deadline_ns) {
  auto ask = make_frame<ListSubscribersFrame>(FrameType::kListSubscribers);
  ask.tag = ++tag_;
  if (absl::Status status = send(bytes_of(ask), deadline_ns); !status.ok()) return status;
  SubscriberList list{};
  for (;;) {
    Packet packet;
    const absl::StatusOr<FrameType> type = receive_answer(packet, ask.tag, deadline_ns);
    if (!type.ok()) return type.status();
    if (*type == FrameType::kSubscriberInfo &&
        list.subscribers.size() < kClientsMax + kMissingMax) {
      list.subscribers.push_back(packet.as<SubscriberInfoFrame>());
    } else if (*type == FrameType::kLatencyReport && !list.subscribers.empty()) {
      list.latencies[list.subscribers.size() - 1] = packet.as<LatencyReportFrame>();
    } else if (*type == FrameType::kEndOfList) {
      list.end = packet.as<EndOfListFrame>();
      return list;
    } else {
      return violation(*type);
    }
  }
}

absl::StatusOr<ControlClient::EventList> ControlClient::list_events(std::uint64_t after,
                                                                    std::uint64_t deadline_ns) {
  if (welcome_.version < kEventsVersionMin) {
    return make_error(
        Errc::kUnsupported,
        absl::StrCat("the publisher at ", path_, " runs a release that does not list events"));
  }
  auto ask = make_frame<ListEventsFrame>(FrameType::kListEvents);
  ask.tag = ++tag_;
  ask.after = after;
  if (absl::Status status = send(bytes_of(ask), deadline_ns); !status.ok()) return status;
  EventList list{};
  for (;;) {
    Packet packet;
    const absl::StatusOr<FrameType> type = receive_answer(packet, ask.tag, deadline_ns);
    if (!type.ok()) return type.status();
    if (*type == FrameType::kEventInfo && list.events.size() < kEventsMax) {
      list.events.push_back(packet.as<EventInfoFrame>());
    } else if (*type == FrameType::kEndOfEvents) {
      list.end = packet.as<EndOfEventsFrame>();
      return list;
    } else {
      return violation(*type);
    }
  }
}

absl::StatusOr<Sequence> ControlClient::prune(Sequence below, std::uint64_t deadline_ns) {
  PruneFrame ask = make_frame<PruneFrame>(FrameType::kPrune);
  ask.below = below;
  ask.tag = ++tag_;
  if (absl::Status status = send(bytes_of(ask), deadline_ns); !status.ok()) return status;
  Packet packet;
  const absl::StatusOr<FrameType> type = receive_answer(packet, ask.tag, deadline_ns);
  if (!type.ok()) return type.status();
  if (*type != FrameType::kPruned) return violation(*type);
  const PrunedFrame answer = packet.as<PrunedFrame>();
  const Errc code = static_cast<Errc>(answer.error);
  if (code == Errc::kOk) return answer.oldest;
  return make_error(code, absl::StrCat("the publisher at ", path_, " did not prune below sequence ",
                                       below, ": ", name_of(code)));
}

absl::StatusOr<std::uint64_t> ControlClient::forget(const std::string& name,
                                                    std::uint64_t deadline_ns) {
  auto ask = make_frame<ForgetFrame>(FrameType::kForget);
  set_text(ask.name, name);
  return forget(ask, deadline_ns);
}

absl::StatusOr<std::uint64_t> ControlClient::forget_all(std::uint64_t deadline_ns) {
  auto ask = make_frame<ForgetFrame>(FrameType::kForget);
  ask.all = 1;
  return forget(ask, deadline_ns);
}

absl::StatusOr<std::uint64_t> ControlClient::forget(ForgetFrame ask, std::uint64_t deadline_ns) {
  if (welcome_.version < kMissingVersionMin) {
    return make_error(
        Errc::kUnsupported,
        absl::StrCat("the publisher at ", path_,
                     " runs a release that does not support missing subscribers; restart it "
                     "with this release"));
  }
  ask.tag = ++tag_;
  if (absl::Status status = send(bytes_of(ask), deadline_ns); !status.ok()) return status;
  Packet packet;
  const absl::StatusOr<FrameType> type = receive_answer(packet, ask.tag, deadline_ns);
  if (!type.ok()) return type.status();
  if (*type != FrameType::kForgotten) return violation(*type);
  const auto answer = packet.as<ForgottenFrame>();
  if (answer.error == 0) return answer.count;
  return make_error(static_cast<Errc>(answer.error),
                    "only the bus's owner and root may remove a missing subscriber");
}

absl::Status ControlClient::send(std::span<const std::byte> frame, std::uint64_t deadline_ns) {
  if (!fd_.valid()) return gone();
  for (;;) {
    switch (send_frame(fd_.get(), frame)) {
      case SendOutcome::kSent:
        return absl::OkStatus();
      case SendOutcome::kClosed:
        return gone();
      case SendOutcome::kWouldBlock:
        break;
    }
    if (absl::Status status = wait_for(POLLOUT, deadline_ns); !status.ok()) return status;
  }
}

// Returns the next frame of a known type, or the error of a Refused. Frames of unknown types, from
// a newer publisher, are skipped, but not beyond the deadline.
absl::StatusOr<FrameType> ControlClient::receive(Packet& packet, std::uint64_t deadline_ns) {
  for (int skipped = 0;;) {
    switch (receive_frame(fd_.get(), packet)) {
      case ReceiveOutcome::kFrame: {
        const FrameType type = packet.as<FrameHeader>().type;
        if (type == FrameType::kRefused) return refusal(packet.as<RefusedFrame>());
        if (first_frame_bytes(type) != 0) return type;
        if (++skipped < kFramesPassedMax || monotonic_ns() < deadline_ns) continue;
        return no_answer();
      }
      case ReceiveOutcome::kClosed:
        return gone();
      case ReceiveOutcome::kViolation:
        return make_error(Errc::kProtocol,
                          absl::StrCat("the process that listens on ", path_,
                                       " sent an invalid packet. Check that it is a publisher"));
      case ReceiveOutcome::kWouldBlock:
        break;
    }
    if (absl::Status status = wait_for(POLLIN, deadline_ns); !status.ok()) return status;
  }
}

// Returns the next answer to the request with this tag. Skips answers to earlier requests, which
// timed out, until the deadline.
absl::StatusOr<FrameType> ControlClient::receive_answer(Packet& packet, std::uint64_t tag,
                                                        std::uint64_t deadline_ns) {
  for (int passed = 0;;) {
    const absl::StatusOr<FrameType> type = receive(packet, deadline_ns);
    if (!type.ok()) return type;
    const std::uint64_t answered = tag_of_answer(*type, packet);
    if (answered == tag && tag != 0) return type;
    if (answered == 0 || answered > tag_) return violation(*type);
    if (++passed >= kFramesPassedMax && monotonic_ns() >= deadline_ns) return no_answer();
  }
}

absl::Status ControlClient::wait_for(short events, std::uint64_t deadline_ns) {
  for (;;) {
    const std::uint64_t now = monotonic_ns();
    const std::uint64_t left_ns = deadline_ns > now ? deadline_ns - now : 0;
    const timespec timeout = timespec_of(left_ns);
    pollfd entry{fd_.get(), events, 0};
    const int ready = ppoll(&entry, 1, &timeout, nullptr);
    if (ready > 0) return absl::OkStatus();
    if (ready < 0 && errno != EINTR) {
      return make_system_error(errno, absl::StrCat("waiting for the publisher at ", path_));
    }
    if (ready == 0) return no_answer();
  }
}

absl::Status ControlClient::no_answer() const {
  return make_error(Errc::kTimedOut,
                    absl::StrCat("the publisher at ", path_,
                                 " did not answer in time; is it stopped or overloaded?"));
}

absl::Status ControlClient::gone() const {
  return make_error(Errc::kPublisherGone,
                    absl::StrCat("the publisher at ", path_, " closed the connection"));
}

absl::Status ControlClient::violation(FrameType type) const {
  return make_error(Errc::kProtocol, absl::StrCat("the publisher at ", path_,
                                                  " sent a frame of type ", static_cast<int>(type),
                                                  " that does not answer the request, or contains "
                                                  "a value that this release does not support"));
}

absl::Status ControlClient::refusal(const RefusedFrame& refused) {
  is_full_ = refused.error == static_cast<std::uint32_t>(Errc::kLimit);
  const std::string reason = printable(get_text(refused.message));
  const bool other_release = refused.error == static_cast<std::uint32_t>(Errc::kAbiMismatch);
  if (other_release && refused.abi_version != kAbiVersion) {
    return make_error(Errc::kAbiMismatch,
                      absl::StrCat("the publisher at ", path_, " uses ABI version ",
                                   refused.abi_version, ", this program uses version ", kAbiVersion,
                                   "; install the same release of Lapwing on both sides"));
  }
  return make_error(other_release ? Errc::kAbiMismatch : Errc::kRefused,
                    absl::StrCat("the publisher at ", path_, " refused: ", reason));
}

}  // namespace lapwing
