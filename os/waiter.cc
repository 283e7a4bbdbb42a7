#include "os/waiter.h"

#include <sched.h>

#include <algorithm>

#include "os/kernel.h"
#include "proto/ring_words.h"

namespace lapwing {
namespace {

// S1 to S3 of the doorbell (proto/ring_words.h).
void park(const RingWords& words, Sequence seen, std::uint64_t deadline_ns,
          const Interrupt* interrupt) {
  const std::uint32_t interrupts = interrupt != nullptr ? interrupt->bell() : 0;
  if (interrupt != nullptr && interrupt->is_raised()) return;
  const std::optional<FutexWord> bell = doorbell_to_sleep_on(words, seen);
  if (!bell) return;
  const std::uint64_t now = monotonic_ns();
  if (now >= deadline_ns) return;
  const std::uint64_t timeout_ns = std::min(deadline_ns - now, kParkNsMax);
  if (interrupt != nullptr) return interrupt->wait_beside(*bell, interrupts, timeout_ns);
  futex_wait(bell->word, bell->expected, timeout_ns);  // S3
}

}  // namespace

std::optional<FutexWord> doorbell_to_sleep_on(const RingWords& words, Sequence seen) {
  const std::uint32_t* const bell = doorbell_address(words);
  const std::uint32_t rung = load_bell(bell);  // S1
  if (load_head(words) != seen || load_ring_state(words) == RingState::kClosed) {
    return std::nullopt;  // S2
  }
  return FutexWord{bell, rung};
}

bool Waiter::stay_awake() {
  if (spinning()) {
    spin();
    return true;
  }
  if (strategy_ != WaitStrategy::kBackoff || turns_ >= kBackoffSpins + kBackoffYields) return false;
  ++turns_;
  sched_yield();
  return true;
}

void Waiter::turn(const RingWords& words, Sequence seen, std::uint64_t deadline_ns) {
  if (!stay_awake()) park(words, seen, deadline_ns, interrupt_);
}

}  // namespace lapwing
