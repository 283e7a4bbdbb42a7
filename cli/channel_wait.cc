#include "cli/channel_wait.h"

#include <poll.h>

#include <array>
#include <cerrno>
#include <string>

#include "cli/say.h"
#include "cli/stop_signal.h"
#include "lapwing/error.h"
#include "os/system_error.h"

namespace lapwing::cli {

ChannelWait::Ready ChannelWait::wait(int channel_fd, int stream_fd, short stream_events) {
  return poll_once(channel_fd, stream_fd, stream_events, -1);
}

void ChannelWait::look() {
  poll_once(-1, -1, 0, 0);
}

ChannelWait::Ready ChannelWait::poll_once(int channel_fd, int stream_fd, short stream_events,
                                          int timeout_ms) {
  std::array<pollfd, 4> entries = {{{channel_fd, POLLIN, 0},
                                    {stream_fd, stream_events, 0},
                                    {stop_fd(), POLLIN, 0},
                                    {listener_ == nullptr ? -1 : listener_->fd(), POLLIN, 0}}};
  const int ready = poll(entries.data(), entries.size(), timeout_ms);
  if (ready < 0 && errno != EINTR) {
    status_ = make_system_error(
        errno,
        "cannot wait for the channel: the system call poll failed; a container must allow it");
  }
  if (ready <= 0) return {};
  if (entries[3].revents != 0) tend();
  return {entries[0].revents != 0, entries[1].revents != 0};
}

void ChannelWait::tend() {
  const absl::Status status = listener_->tend();
  if (status.ok() || errc_of(status) == Errc::kLimit) return;  // no free descriptors: retry
  say(std::string(status.message()));
  listener_ = nullptr;
}

}  // namespace lapwing::cli
