// How the follower waits, and what it looks after while there is nothing to deliver.
#include <algorithm>

#include "lapwing/error.h"
#include "os/kernel.h"
#include "subscribers/follower.h"

namespace lapwing {

// There is nothing to deliver now. Looks at the clock now and then, and always where an event loop
// is behind the descriptor, since that does not spin.
Follower::Turn Follower::on_idle() {
  if (spins_left_ > 0) {
    --spins_left_;
    return nothing();
  }
  if (descriptor_ == nullptr) spins_left_ = kSpins;
  const std::uint64_t now = monotonic_ns();
  watch_.look(*attachment_, now);
  report(now);
  if (!watch_.stale_due(*attachment_, counters().records, now)) return nothing();
  return announce(ItemKind::kStale, cursor_.next - 1);
}

void Follower::report(std::uint64_t now_ns) {
  if (attachment_->control() == nullptr) return;
  reporter_.report(*attachment_->control(), now_ns, cursor_.next - 1, attachment_->newest(),
                   counters(), client_state());
}

ClientState Follower::client_state() const {
  if (!backlog_.caught_up()) return ClientState::kJoining;
  return cursor_.phase == Phase::kCatchUp ? ClientState::kFilling : ClientState::kLive;
}

// Where spinning is the way to wait: looks at the next stamp, and at nothing else, until something
// is there (true) or it is time to look after everything (false).
bool Follower::spin() {
  if (cursor_.phase != Phase::kLive || !calls_.waiter().spinning()) return false;
  for (; spins_left_ > 0; --spins_left_) {
    calls_.waiter().spin();
    if (cursor_.ring->has(cursor_.next)) return true;
  }
  return false;
}

// Waits a moment in the way the phase allows; false once deadline_ns has passed, or interrupted.
bool Follower::rest(std::uint64_t deadline_ns) {
  if (calls_.take_interrupt()) return false;
  const std::uint64_t now = monotonic_ns();
  if (now >= deadline_ns) return false;
  const CallWait::Rest rest(calls_, cursor_.attention);
  if (!rest.is_held()) {
    calls_.refuse();
    return false;
  }
  spins_left_ = 0;  // the next empty poll looks after everything
  int fd = -1;
  std::uint64_t until_ns = now + kCatchUpPauseNs;
  switch (cursor_.phase) {
    case Phase::kLive:
      if (calls_.waiter().spinning()) {
        calls_.waiter().spin();
      } else {
        rest_in_ring(deadline_ns);
      }
      return true;
    case Phase::kSeeking:
      fd = search_.fd();
      until_ns = search_.next_step_ns();
      break;
    case Phase::kFlushing:
      fd = attachment_->control()->fd();
      until_ns = backlog_.flush_ends_ns();
      break;
    case Phase::kSnapshot:
      return true;  // there is more of it to load
    case Phase::kCatchUp:
      break;
    case Phase::kEnded:
      break;
  }
  until_ns = std::min({until_ns, deadline_ns, now + kInterruptPauseNs});
  wait_readable(fd, until_ns - std::min(until_ns, now));
  return true;
}

void Follower::rest_in_ring(std::uint64_t deadline_ns) {
  if (watch_.ended()) return;  // the ring is to be read once more at once
  // A start in the future, or a batch whose head has not moved yet, waits for head to move at all.
  const Sequence seen = std::min(cursor_.next - 1, cursor_.ring->head());
  calls_.waiter().turn(attachment_->map()->words(), seen, deadline_ns);
}

absl::StatusOr<int> Follower::descriptor() {
  if (descriptor_ != nullptr) return descriptor_->fd();
  if (!may_park(options_.wait)) {
    return make_error(Errc::kInvalidArgument,
                      "a subscriber that waits busily has no descriptor: the publisher rings only "
                      "for those that may park; choose backoff or park");
  }
  absl::StatusOr<std::unique_ptr<WakeDescriptor>> started = WakeDescriptor::start();
  if (!started.ok()) return started.status();
  descriptor_ = *std::move(started);
  spins_left_ = 0;
  descriptor_->signal();  // there may be something to do already
  return descriptor_->fd();
}

// There is nothing to deliver.
void Follower::arm_descriptor() {
  if (cursor_.phase == Phase::kSnapshot) return descriptor_->signal();  // the next slice
  if (cursor_.phase != Phase::kLive) return descriptor_->arm(nullptr, kNoSequence);
  descriptor_->arm(attachment_->map(), std::min(cursor_.next - 1, cursor_.ring->head()));
}

}  // namespace lapwing
