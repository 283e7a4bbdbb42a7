#include "channel/watch.h"

#include <sys/timerfd.h>

#include <cerrno>

#include "lapwing/error.h"
#include "os/kernel.h"
#include "os/system_error.h"

namespace lapwing {
namespace {

absl::Status no_descriptor() {
  if (errno != EMFILE && errno != ENFILE) {
    return make_system_error(errno, "making the descriptor that a channel's event loop polls");
  }
  return make_error(Errc::kLimit,
                    "no descriptor is left to listen for channels; raise the limit (ulimit -n)");
}

}  // namespace

absl::StatusOr<Watch> Watch::make() {
  UniqueFd set = UniqueFd::opened_by([] { return epoll_create1(EPOLL_CLOEXEC); });
  if (!set.valid()) return no_descriptor();
  UniqueFd timer = UniqueFd::opened_by(
      [] { return timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK); });
  if (!timer.valid()) return no_descriptor();
  Watch watch(std::move(set), std::move(timer));
  if (!watch.add(watch.timer_.get())) {
    return make_system_error(errno, "watching the timer of a channel's listener");
  }
  return watch;
}

bool Watch::add(int fd, std::uint64_t tag) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = tag;
  return epoll_ctl(set_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

void Watch::remove(int fd) {
  epoll_ctl(set_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

std::span<const epoll_event> Watch::ready(std::span<epoll_event> room) const {
  const int count = epoll_wait(set_.get(), room.data(), static_cast<int>(room.size()), 0);
  return room.first(count > 0 ? static_cast<std::size_t>(count) : 0);
}

// To set it anew also takes back that it is readable, so a moment that has passed is always set.
void Watch::wake_at(std::uint64_t at_ns) {
  if (at_ns == 0 && wakes_at_ns_ == 0) return;
  const itimerspec when{.it_interval = {}, .it_value = timespec_of(at_ns)};
  timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
  wakes_at_ns_ = at_ns;
}

}  // namespace lapwing
