// A subscriber's waits for the next record: spin, back off, or park on the doorbell.
//
// Thread safety: one waiter per subscriber thread. Parking is FUTEX_WAIT through the read-only
// mapping, at most kParkNsMax at a time, so wake-ups only reduce latency and are not needed for
// correctness.
#pragma once

#include <cstdint>
#include <optional>

#include "lapwing/detail/atomic_word.h"
#include "lapwing/waiting.h"
#include "os/interrupt.h"
#include "os/kernel.h"
#include "proto/ring_layout.h"

namespace lapwing {

inline constexpr std::uint64_t kParkNsMax = 100'000'000;
inline constexpr std::uint32_t kBackoffSpins = 2000;
inline constexpr std::uint32_t kBackoffYields = 50;

constexpr bool may_park(WaitStrategy strategy) {
  return strategy != WaitStrategy::kBusy;
}

// S1 and S2 of the doorbell (proto/ring_words.h). Returns the word to sleep on until head passes
// `seen`, or nullopt if it already has, or if the session is closed. Reads page 1.
std::optional<FutexWord> doorbell_to_sleep_on(const RingWords& words, Sequence seen);

class Waiter {
 public:
  // `interrupt`, if not null, ends a turn that sleeps.
  explicit Waiter(WaitStrategy strategy, const Interrupt* interrupt = nullptr)
      : strategy_(strategy), interrupt_(interrupt) {}

  // One turn of waiting for head to pass `seen`. Returns soon after it has, after one pause (busy),
  // or at the latest at deadline_ns (CLOCK_MONOTONIC) or after kParkNsMax. The caller polls and
  // calls it again.
  void turn(const RingWords& words, Sequence seen, std::uint64_t deadline_ns);
  // A turn without a sleep. Returns false if it is time to sleep, which the caller then does.
  bool stay_awake();
  // True while the next turn is only a short pause, after which the clock need not be read: spin().
  bool spinning() const {
    return strategy_ == WaitStrategy::kBusy ||
           (strategy_ == WaitStrategy::kBackoff && turns_ < kBackoffSpins);
  }
  // One turn while spinning(). Does not read page 1, whose lines the publisher writes.
  void spin() {
    ++turns_;
    spin_pause();
  }
  // Call it after a result, to start spinning again.
  void reset() { turns_ = 0; }

 private:
  WaitStrategy strategy_;
  const Interrupt* interrupt_;
  std::uint32_t turns_ = 0;
};

}  // namespace lapwing
