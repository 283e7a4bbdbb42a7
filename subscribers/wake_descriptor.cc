#include "subscribers/wake_descriptor.h"

#include <utility>

#include "os/kernel.h"
#include "os/start_thread.h"
#include "os/waiter.h"

namespace lapwing {

absl::StatusOr<std::unique_ptr<WakeDescriptor>> WakeDescriptor::start(
    const ThreadPlacement& placement) {
  absl::StatusOr<UniqueFd> event = make_eventfd();
  if (!event.ok()) return event.status();
  std::unique_ptr<WakeDescriptor> descriptor(new WakeDescriptor(*std::move(event)));
  const absl::Status started =
      start_thread(descriptor->helper_, "lapwing-bell", [wake = descriptor.get()] { wake->run(); },
                   {.placement = placement});
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
