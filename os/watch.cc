#include "os/watch.h"

#include <sys/timerfd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/kernel.h"
#include "os/system_error.h"

namespace lapwing {
namespace {

absl::Status no_watch(const std::string& purpose) {
  const int sys_errno = errno;
  if (sys_errno != EMFILE && sys_errno != ENFILE) {
    return make_system_error(sys_errno, absl::StrCat("making a descriptor ", purpose));
  }
  return make_error(Errc::kLimit, absl::StrCat("no descriptor is left ", purpose,
                                               "; raise the limit (ulimit -n)"));
}

}  // namespace

absl::StatusOr<Watch> Watch::make(const std::string& purpose) {
  UniqueFd set = UniqueFd::opened_by([] { return epoll_create1(EPOLL_CLOEXEC); });
  if (!set.valid()) return no_watch(purpose);
  return Watch(std::move(set));
}

absl::StatusOr<Watch> Watch::make_with_timer(const std::string& purpose) {
  absl::StatusOr<Watch> watch = make(purpose);
  if (!watch.ok()) return watch;
  watch->timer_ = UniqueFd::opened_by(
      [] { return timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK); });
  if (!watch->timer_.valid()) return no_watch(purpose);
  const int refused = watch->add(watch->timer_.get(), EPOLLIN, 0);
  if (refused != 0) return make_system_error(refused, "watching the timer of a channel's listener");
  return watch;
}

int Watch::add(int fd, std::uint32_t events, std::uint64_t tag) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = tag;
  return epoll_ctl(set_.get(), EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : errno;
}

void Watch::remove(int fd) {
  epoll_ctl(set_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

std::span<const epoll_event> Watch::ready(std::span<epoll_event> room) const {
  const int count = epoll_wait(set_.get(), room.data(), static_cast<int>(room.size()), 0);
  return room.first(count > 0 ? static_cast<std::size_t>(count) : 0);
}

// Setting the timer again makes it unreadable, so a time that has passed is always set.
void Watch::wake_at(std::uint64_t at_ns) {
  if (at_ns == 0 && wakes_at_ns_ == 0) return;
  const itimerspec when{.it_interval = {}, .it_value = timespec_of(at_ns)};
  timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
  wakes_at_ns_ = at_ns;
}

absl::Status no_room_to_watch(const std::string& what) {
  return make_error(Errc::kLimit, absl::StrCat("the kernel has no room to watch ", what,
                                               "; raise /proc/sys/fs/epoll/max_user_watches"));
}

}  // namespace lapwing
