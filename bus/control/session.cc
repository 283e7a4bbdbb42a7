#include "bus/control/session.h"

#include <sys/socket.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "os/kernel.h"
#include "os/printable.h"
#include "proto/text_field.h"

namespace lapwing {

ControlSession::ControlSession(SessionId id, UniqueFd fd, const PeerCredentials& peer)
    : id_(id),
      fd_(std::move(fd)),
      peer_(peer),
      connected_wall_ns_(wall_ns()),
      pid_(static_cast<std::uint32_t>(peer.pid)) {}

// A child that the publisher's process forked may hold the descriptor, too; the client must learn
// of the end all the same.
void ControlSession::close() {
  shutdown(fd_.get(), SHUT_RDWR);
  fd_.reset();
}

void ControlSession::greet(const HelloFrame& hello) {
  greeted_ = true;
  name_ = printable(get_text(hello.name));
  role_ = hello.role;
  may_park_ = hello.may_park != 0;
  // The kernel does not know the pid of a peer in another pid namespace; then its own word must do.
  if (pid_ == 0) pid_ = hello.pid;
}

void ControlSession::take_report(const ReportFrame& report) {
  report_ = report;
  reported_wall_ns_ = wall_ns();
}

SubscriberInfoFrame ControlSession::info() const {
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
  set_text(info.name, name_);
  return info;
}

std::string ControlSession::description() const {
  return absl::StrCat(name_.empty() ? "a client" : name_, " (pid ", pid_, ", user ", peer_.uid,
                      ")");
}

ControlSession::Post ControlSession::post(std::span<const std::byte> frame) {
  if (queue_.empty()) {
    switch (send_frame(fd(), frame)) {
      case SendOutcome::kSent:
        return Post::kDone;
      case SendOutcome::kClosed:
        return Post::kClosed;
      case SendOutcome::kWouldBlock:
        break;
    }
  }
  if (queue_.size() == kFramesQueuedMax) return Post::kQueueFull;
  queue_.emplace_back(frame.begin(), frame.end());
  return Post::kDone;
}

bool ControlSession::send_queued() {
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

}  // namespace lapwing
