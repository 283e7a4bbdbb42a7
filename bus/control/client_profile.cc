#include "bus/control/client_profile.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "os/frame_socket.h"
#include "os/kernel.h"
#include "os/printable.h"
#include "os/process_state.h"
#include "proto/text_field.h"

namespace lapwing {

ClientProfile::ClientProfile(const PeerCredentials& peer, std::uint64_t now_ns)
    : peer_(peer),
      connected_wall_ns_(wall_ns()),
      pid_(static_cast<std::uint32_t>(peer.pid)),
      heard_ns_(now_ns) {}

void ClientProfile::greet(const HelloFrame& hello) {
  stage_ = Stage::kGreeted;
  name_ = printable(get_text(hello.name));
  role_ = hello.role;
  may_park_ = hello.may_park != 0;
  observes_ = hello.observes != 0;
  // The kernel does not report the pid of a peer in another pid namespace. Use the claimed one.
  if (pid_ == 0) pid_ = hello.pid;
}

void ClientProfile::attach() {
  stage_ = Stage::kAttached;
  if (peer_.pid != 0) process_start_ = identity_of(pid_).start_ticks;
}

Losses ClientProfile::update(const ReportFrame& report, std::uint64_t now_ns) {
  const bool is_first = reported_wall_ns_ == 0;
  const auto since = [](std::uint64_t before, std::uint64_t now) {
    return now > before ? now - before : 0;
  };
  const Losses losses{since(is_first ? report.gaps_before : report_.gaps, report.gaps),
                      since(is_first ? report.lost_before : report_.lost, report.lost)};
  report_ = report;
  reported_wall_ns_ = wall_ns();
  heard_ns_ = now_ns;
  return observes_ ? Losses{} : losses;
}

void ClientProfile::update(const LatencyReportFrame& latency) {
  latency_ = latency;
  latency_->header = make_frame<LatencyReportFrame>(FrameType::kLatencyReport).header;
}

SubscriberInfoFrame ClientProfile::info(std::uint64_t now_ns) const {
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
  info.report_age_ns = std::max(now_ns, heard_ns_ + 1) - heard_ns_;
  set_text(info.name, name_);
  return info;
}

EventInfoFrame ClientProfile::event(BusEventKind kind) const {
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

std::string ClientProfile::description() const {
  return absl::StrCat(name_.empty() ? "a client" : name_, " (pid ", pid_, ", user ", peer_.uid,
                      ")");
}

}  // namespace lapwing
