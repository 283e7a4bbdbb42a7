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
  const std::uint32_t* const bell = doorbell_address(words);
  const std::uint32_t rung = load_bell(bell);                                            // S1
  if (load_head(words) != seen || load_ring_state(words) == RingState::kClosed) return;  // S2
  const std::uint64_t now = monotonic_ns();
  if (now >= deadline_ns) return;
  const std::uint64_t timeout_ns = std::min(deadline_ns - now, kParkNsMax);
  if (interrupt != nullptr) return interrupt->wait_beside(bell, rung, interrupts, timeout_ns);
  futex_wait(bell, rung, timeout_ns);  // S3
}

}  // namespace

void Waiter::turn(const RingWords& words, Sequence seen, std::uint64_t deadline_ns) {
  if (spinning()) return spin();
  if (strategy_ == WaitStrategy::kBackoff && turns_ < kBackoffSpins + kBackoffYields) {
    ++turns_;
    sched_yield();
    return;
  }
  park(words, seen, deadline_ns, interrupt_);
}

}  // namespace lapwing
