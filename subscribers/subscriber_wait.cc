#include "subscribers/subscriber_wait.h"

#include <utility>

#include "lapwing/error.h"
#include "os/kernel.h"

namespace lapwing {

// Without the check for passed-over records, a bus that constantly publishes other instruments
// would keep the call from returning.
bool SubscriberWait::keep_waiting(std::uint64_t deadline_ns, bool has_passed_over) {
  records_waited_ = cursor_.ledger.counters().records;
  if (deadline_ns == 0 || another_rests()) return false;
  if (has_passed_over) return !take_interrupt() && monotonic_ns() < deadline_ns;
  return spin() || rest(deadline_ns);
}

// Polls only the next slot. Returns false if it is not time to spin, or if the upkeep is due.
bool SubscriberWait::spin() {
  if (cursor_.phase != Phase::kLive || !waiter_.spinning()) return false;
  for (; spins_left_ > 0; --spins_left_) {
    waiter_.spin();
    if (cursor_.ring->has(cursor_.next)) return true;
  }
  return false;
}

// Waits a moment in a way that the phase allows. Returns false if the deadline has passed or the
// call was interrupted.
bool SubscriberWait::rest(std::uint64_t deadline_ns) {
  if (take_interrupt()) return false;
  const std::uint64_t now = monotonic_ns();
  if (now >= deadline_ns) return false;
  const Rest rest(*this);
  if (!rest.is_held) {
    refuse();
    return false;
  }
  cursor_.close();  // only misuse, an overlapping call, could have opened it
  spins_left_ = 0;
  if (cursor_.phase == Phase::kLive) {
    if (waiter_.spinning()) {
      waiter_.spin();
    } else if (!stream_.watch.ended()) {  // if it has, read the ring again at once
      waiter_.turn(stream_.attachment->map()->words(), seen_in_ring(),
                   std::min(deadline_ns, after_ns(now, doze_ns())));
    }
    return true;
  }
  const std::optional<Pause> pause = machine_.pause_from(now);
  if (!pause) return true;
  const std::uint64_t until_ns = std::min({pause->until_ns, deadline_ns, now + kInterruptPauseNs});
  wait_readable(pause->fd, until_ns - std::min(until_ns, now));
  return true;
}

std::optional<WakeUp> SubscriberWait::prepare() {
  spins_left_ = 0;
  const std::uint64_t now = monotonic_ns();
  WakeUp wake_up;
  if (cursor_.phase == Phase::kLive) {
    if (stream_.watch.ended()) return std::nullopt;
    wake_up.word = doorbell_to_sleep_on(stream_.attachment->map()->words(), seen_in_ring());
    if (!wake_up.word) return std::nullopt;
    wake_up.wake_by_ns = now + doze_ns();
  } else {
    const std::optional<Pause> pause = machine_.pause_from(now);
    if (!pause) return std::nullopt;
    wake_up.wake_by_ns = std::min(pause->until_ns, now + kSeekingTickNs);
  }
  set_rest_.emplace(*this);
  if (set_rest_->is_held) return wake_up;
  set_rest_.reset();
  return std::nullopt;
}

absl::StatusOr<int> SubscriberWait::descriptor() {
  if (has_descriptor()) return descriptor_->fd();
  if (!may_park(options_.wait)) {
    return make_error(Errc::kInvalidArgument,
                      "a subscriber that waits busily has no descriptor: the publisher wakes only "
                      "subscribers that may park. Choose backoff or park");
  }
  absl::StatusOr<std::unique_ptr<WakeDescriptor>> started = WakeDescriptor::start(options_.threads);
  if (!started.ok()) return started.status();
  descriptor_ = *std::move(started);
  spins_left_ = 0;
  descriptor_->signal();  // there may already be something to do
  return descriptor_->fd();
}

bool SubscriberWait::arm() {
  if (!has_descriptor() || machine_.may_read()) return false;
  if (cursor_.phase == Phase::kSnapshot) {
    descriptor_->signal();  // the next slice
  } else if (cursor_.phase == Phase::kLive && stream_.attachment->control() != nullptr) {
    descriptor_->arm(stream_.attachment->map(), seen_in_ring());
  } else {
    descriptor_->arm(nullptr, kNoSequence);
  }
  return true;
}

}  // namespace lapwing
