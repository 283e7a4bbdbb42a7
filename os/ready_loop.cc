#include "os/ready_loop.h"

#include <algorithm>
#include <cerrno>
#include <optional>

#include "os/start_thread.h"

namespace lapwing {

DescriptorBell::~DescriptorBell() {
  if (!helper_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  signal_eventfd(wake_up_);
  helper_.join();
}

absl::Status DescriptorBell::start() {
  if (helper_.joinable()) return absl::OkStatus();
  return start_thread(helper_, "lapwing-waitset", [this] { help(); });
}

void DescriptorBell::arm() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(armed_, true)) return;
  }
  changed_.notify_one();
}

void DescriptorBell::help() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return armed_ || stopping_; });
      if (stopping_) return;
    }
    epoll_event event;
    const int found = epoll_wait(watch_, &event, 1, -1);  // H1
    if (found == 0 || (found < 0 && errno == EINTR)) continue;
    {
      const std::lock_guard lock(mutex_);
      armed_ = false;  // H2
    }
    bell_.ring();  // P2, P3
  }
}

absl::StatusOr<LoopDescriptors> LoopDescriptors::make(absl::StatusOr<Watch> watch) {
  if (!watch.ok()) return watch.status();
  absl::StatusOr<UniqueFd> wake_up = make_eventfd();
  if (!wake_up.ok()) return wake_up.status();
  if (watch->add(wake_up->get(), EPOLLIN, kWakeUpTag) != 0) return no_room_to_watch("an eventfd");
  return LoopDescriptors{*std::move(watch), *std::move(wake_up)};
}

void ReadyLoop::interrupt() noexcept {
  interrupt_.raise();
  signal_eventfd(wake_up_.get());
}

int ReadyLoop::watch(int fd, std::uint32_t events, std::uint64_t tag) {
  const int refused = watch_.add(fd, events, tag);
  if (refused == 0) ++watched_;
  return refused;
}

void ReadyLoop::stop_watching(int fd) {
  --watched_;
  if (fd >= 0) watch_.remove(fd);
}

std::span<const epoll_event> ReadyLoop::take_ready(std::span<epoll_event> room) {
  const std::span<const epoll_event> ready = watch_.ready(room);
  for (const epoll_event& event : ready) {
    if (event.data.u64 == kWakeUpTag) drain_eventfd(wake_up_.get());
  }
  return ready;
}

std::size_t ReadyLoop::park(std::span<const FutexWord> words, std::uint64_t until_ns) {
  const std::uint64_t now = monotonic_ns();
  if (now >= until_ns) return words.size();
  const std::uint64_t timeout_ns = std::min(until_ns - now, kReadySleepNsMax);
  const bool has_others = words.size() > 1;
  if (watches() && !has_others) {
    wait_readable(watch_.fd(), timeout_ns);
    return words.size();
  }
  if (watches()) helper_.arm();  // S2
  if (const std::optional<std::size_t> woken = futex_wait_any(words, timeout_ns)) return *woken;
  const FutexWord& bell = words.front();
  futex_wait(bell.word, bell.expected,
             has_others ? std::min(timeout_ns, kNoWaitvSleepNs) : timeout_ns);
  return words.size();
}

}  // namespace lapwing
