#include "bus/control/client_socket.h"

namespace lapwing {

PostOutcome ClientSocket::post_bytes(std::span<const std::byte> frame) {
  if (queue_.empty()) {
    const SendOutcome outcome = send_frame(fd(), frame);
    if (outcome == SendOutcome::kSent) return PostOutcome::kSent;
    if (outcome == SendOutcome::kClosed) return PostOutcome::kClosed;
  }
  if (queue_.size() == kFramesQueuedMax) return PostOutcome::kFull;
  queue_.emplace_back(frame.begin(), frame.end());
  return PostOutcome::kQueued;
}

SendOutcome ClientSocket::send_queued() {
  for (; !queue_.empty(); queue_.pop_front()) {
    const SendOutcome outcome = send_frame(fd(), queue_.front());
    if (outcome != SendOutcome::kSent) return outcome;
  }
  return SendOutcome::kSent;
}

}  // namespace lapwing
