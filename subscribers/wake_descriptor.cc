#include "subscribers/wake_descriptor.h"

#include <pthread.h>
#include <signal.h>

#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bus/kernel.h"
#include "bus/waiter.h"
#include "proto/error.h"
#include "proto/shared_words.h"

namespace lapwing {

absl::StatusOr<std::unique_ptr<WakeDescriptor>> WakeDescriptor::start() {
  absl::StatusOr<UniqueFd> event = make_eventfd();
  if (!event.ok()) return event.status();
  std::unique_ptr<WakeDescriptor> descriptor(new WakeDescriptor(*std::move(event)));
  // The program's signal handlers run on the program's own threads.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  absl::Status started;
  try {
    descriptor->helper_ = std::thread([wake = descriptor.get()] { wake->run(); });
  } catch (const std::system_error& error) {
    started = make_error(Errc::kLimit, absl::StrCat("starting the thread behind a subscriber's "
                                                    "descriptor: ",
                                                    error.what()));
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!started.ok()) return started;
  return descriptor;
}

WakeDescriptor::~WakeDescriptor() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  if (helper_.joinable()) helper_.join();
}

void WakeDescriptor::arm(std::shared_ptr<const RingMap> map, Sequence seen) {
  drain_eventfd(event_.get());
  {
    const std::lock_guard lock(mutex_);
    map_ = std::move(map);
    seen_ = seen;
    armed_ = true;
  }
  changed_.notify_one();
}

void WakeDescriptor::signal() {
  signal_eventfd(event_.get());
}

void WakeDescriptor::run() {
  pthread_setname_np(pthread_self(), "lapwing-bell");
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return armed_ || stopping_; });
    if (stopping_) return;
    armed_ = false;
    const std::shared_ptr<const RingMap> map = std::move(map_);
    const Sequence seen = seen_;
    lock.unlock();
    watch(map.get(), seen);
    signal();
    lock.lock();
  }
}

// Returns when head has passed `seen`, or after one tick.
void WakeDescriptor::watch(const RingMap* map, Sequence seen) {
  if (map == nullptr) return wait_readable(-1, kSeekingTickNs);
  Waiter waiter(WaitStrategy::kPark);
  waiter.turn(map->words(), seen, monotonic_ns() + kTickNs);
}

}  // namespace lapwing
