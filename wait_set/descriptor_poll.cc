#include "wait_set/descriptor_poll.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/kernel.h"
#include "os/start_thread.h"
#include "os/system_error.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kWakeTag = 0;

absl::Status cannot_watch(int sys_errno, int fd) {
  switch (sys_errno) {
    case EPERM:
      return make_error(Errc::kInvalidArgument,
                        absl::StrCat("descriptor ", fd,
                                     " cannot be polled, as one of a regular file or a directory: "
                                     "reading it never waits; leave it out of the set"));
    case EEXIST:
      return make_error(Errc::kInvalidArgument,
                        absl::StrCat("descriptor ", fd,
                                     " is in the set already; remove it first, or add a dup() of "
                                     "it"));
    case EBADF:
      return make_error(Errc::kInvalidArgument,
                        absl::StrCat(fd, " is no open descriptor; add it before it is closed"));
    case EINVAL:
    case ELOOP:
      return make_error(Errc::kInvalidArgument,
                        absl::StrCat("descriptor ", fd, " cannot be watched by an epoll set"));
    case ENOSPC:
    case ENOMEM:
      return make_error(Errc::kLimit,
                        absl::StrCat("the kernel has no room to watch descriptor ", fd,
                                     "; raise /proc/sys/fs/epoll/max_user_watches"));
    default:
      return make_system_error(sys_errno, absl::StrCat("watching descriptor ", fd));
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<DescriptorPoll>> DescriptorPoll::make(Interrupt& bell) {
  UniqueFd epoll = UniqueFd::opened_by([] { return epoll_create1(EPOLL_CLOEXEC); });
  if (!epoll.valid()) {
    if (errno != EMFILE && errno != ENFILE) {
      return make_system_error(errno, "making the epoll set of a wait set");
    }
    return make_error(Errc::kLimit,
                      "no descriptor is left for a wait set; raise the limit (ulimit -n)");
  }
  absl::StatusOr<UniqueFd> wake = make_eventfd();
  if (!wake.ok()) return wake.status();
  std::unique_ptr<DescriptorPoll> made(
      new DescriptorPoll(bell, std::move(epoll), *std::move(wake)));
  absl::Status added = made->add(made->wake_.get(), EPOLLIN, kWakeTag);
  if (!added.ok()) return added;
  return made;
}

DescriptorPoll::~DescriptorPoll() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  wake();
  if (helper_.joinable()) helper_.join();
}

absl::Status DescriptorPoll::add(int fd, std::uint32_t events, std::uint64_t tag) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = tag;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0) return absl::OkStatus();
  return cannot_watch(errno, fd);
}

void DescriptorPoll::remove(int fd) {
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

std::span<const epoll_event> DescriptorPoll::take_ready(std::span<epoll_event> room) {
  const int found = epoll_wait(epoll_.get(), room.data(), static_cast<int>(room.size()), 0);
  const std::span<epoll_event> ready = room.first(static_cast<std::size_t>(std::max(found, 0)));
  for (const epoll_event& event : ready) {
    if (event.data.u64 == kWakeTag) drain_eventfd(wake_.get());
  }
  return ready;
}

void DescriptorPoll::wait_ready(std::uint64_t timeout_ns) const {
  wait_readable(epoll_.get(), timeout_ns);
}

void DescriptorPoll::wake() noexcept {
  signal_eventfd(wake_.get());
}

absl::Status DescriptorPoll::start_helper() {
  if (helper_.joinable()) return absl::OkStatus();
  return start_thread(helper_, "lapwing-waitset", [this] { help(); });
}

void DescriptorPoll::arm_helper() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(armed_, true)) return;
  }
  changed_.notify_one();
}

void DescriptorPoll::help() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return armed_ || stopping_; });
      if (stopping_) return;
    }
    epoll_event event;
    const int found = epoll_wait(epoll_.get(), &event, 1, -1);  // H1
    if (found == 0 || (found < 0 && errno == EINTR)) continue;
    {
      const std::lock_guard lock(mutex_);
      armed_ = false;  // H2
    }
    bell_.ring();  // P2, P3
  }
}

}  // namespace lapwing
