#include "cli/channel_wait.h"

#include <poll.h>

#include <array>
#include <string>

#include "bus/kernel.h"
#include "cli/say.h"
#include "cli/stop_signal.h"
#include "proto/control_frames.h"

namespace lapwing::cli {
namespace {

// Whoever connects says within kHandshakeNs what it wants, on a descriptor that only the listener
// has: so long it is tended at short intervals, and otherwise when somebody connects.
constexpr std::uint64_t kTendNs = 2 * kHandshakeNs;
constexpr int kTendPauseMs = 20;

}  // namespace

ChannelWait::Ready ChannelWait::wait(int channel_fd, int stream_fd, short stream_events) {
  return poll_once(channel_fd, stream_fd, stream_events, tending_ms());
}

void ChannelWait::look() {
  poll_once(-1, -1, 0, 0);
}

ChannelWait::Ready ChannelWait::poll_once(int channel_fd, int stream_fd, short stream_events,
                                          int timeout_ms) {
  const bool tending = tending_ms() >= 0;
  const int listener_fd = listener_ == nullptr || tending ? -1 : listener_->fd();
  std::array<pollfd, 4> entries = {{{channel_fd, POLLIN, 0},
                                    {stream_fd, stream_events, 0},
                                    {stop_fd(), POLLIN, 0},
                                    {listener_fd, POLLIN, 0}}};
  const int ready = poll(entries.data(), entries.size(), timeout_ms);
  if (ready > 0 && entries[3].revents != 0) tend_until_ns_ = monotonic_ns() + kTendNs;
  if (tending_ms() >= 0) tend();
  if (ready <= 0) return {};
  return {entries[0].revents != 0, entries[1].revents != 0};
}

// How long a wait may be while the listener is to be tended; -1: it is not.
int ChannelWait::tending_ms() const {
  return listener_ != nullptr && monotonic_ns() < tend_until_ns_ ? kTendPauseMs : -1;
}

void ChannelWait::tend() {
  const absl::Status status = listener_->tend();
  if (status.ok() || errc_of(status) == Errc::kLimit) return;  // no descriptors: later, perhaps
  say(std::string(status.message()));
  listener_ = nullptr;
}

}  // namespace lapwing::cli
