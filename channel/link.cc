#include "channel/link.h"

#include <sys/socket.h>

#include <cerrno>

#include "os/kernel.h"
#include "proto/channel_frames.h"

namespace lapwing {
namespace {

bool is_wake(const Packet& packet) {
  const absl::StatusOr<FrameType> type = check_frame(packet, channel_frame_length);
  return type.ok() && *type == FrameType::kWake;
}

}  // namespace

Link::Link(ForeignSocket fd)
    : fd_(std::move(fd)), rejects_descriptors_(refuse_descriptors(fd_.get())) {}

bool Link::brings_descriptors() {
  return may_bring_descriptors_ && carries_descriptors(fd_.get());
}

Link::Peer Link::look() {
  for (int taken = 0; taken < kPacketsPerLook && last_ == Peer::kThere; ++taken) {
    if (brings_descriptors()) {  // receiving them would close them in this thread
      last_ = Peer::kViolation;
      break;
    }
    Packet packet;
    const ssize_t got = recv(fd_.get(), packet.bytes, sizeof packet.bytes, MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN) {
      may_bring_descriptors_ = !rejects_descriptors_;
      break;
    }
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      last_ = Peer::kGone;
      break;
    }
    packet.size = static_cast<std::size_t>(got);
    if (!is_wake(packet)) last_ = Peer::kViolation;
  }
  return last_;
}

bool Link::await(int other, std::uint64_t timeout_ns) const {
  pollfd entries[] = {{fd_.get(), POLLIN, 0}, {other, POLLIN, 0}};
  wait_any_readable(entries, monotonic_ns() + timeout_ns);
  return entries[1].revents != 0;
}

SendOutcome Link::wake() {
  if (last_ != Peer::kThere) return SendOutcome::kClosed;
  const SendOutcome sent = send_frame(fd_.get(), make_frame<WakeFrame>(FrameType::kWake));
  if (sent == SendOutcome::kClosed) last_ = Peer::kGone;
  return sent;
}

void Link::close() {
  fd_.reset();
  last_ = Peer::kGone;
}

}  // namespace lapwing
