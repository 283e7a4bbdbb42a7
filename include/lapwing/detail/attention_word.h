// A word with a bit for each thread that sleeps on an eventfd. The publish path checks it with one
// plain load for each record.
//
//     sleeper (service or file thread)          publishing thread
//     F1 word |= its bit                        Q1 head = n  (W4)
//     F2 membarrier(PRIVATE_EXPEDITED)          Q2 compiler barrier
//     F3 load head; moved: word &= ~bit,        Q3 if word: bits = exchange(word, 0), write the
//        continue                                  eventfds of `bits`
//     F4 sleep on its eventfd
//
// The membarrier makes the publishing thread execute a full barrier at some point between F1 and
// F3. If that point is before Q1, then Q3 sees F1 and writes the eventfd. If it is after Q1, then
// F3 sees the new head. Without F2, or with Q3 before Q1, a record can be published without a
// wake-up. Each change is one atomic operation: a load and a store could undo a change that the
// other sleeper or the publishing thread made in between. The thread that takes a bit sees all
// stores from before the bit was raised.
#pragma once

#include <atomic>
#include <cstdint>

namespace lapwing::detail {

class AttentionWord {
 public:
  // F1. The caller issues F2 next.
  void raise(std::uint32_t bits) { word_.fetch_or(bits, std::memory_order_release); }
  // F3, if head has moved.
  void lower(std::uint32_t bits) { word_.fetch_and(~bits, std::memory_order_relaxed); }
  // Q2 and the load of Q3.
  bool is_raised() const {
    std::atomic_signal_fence(std::memory_order_seq_cst);  // Q2
    return word_.load(std::memory_order_relaxed) != 0;
  }
  // Q3. Returns the raised bits, each once.
  std::uint32_t take() { return word_.exchange(0, std::memory_order_acquire); }

 private:
  std::atomic<std::uint32_t> word_{0};
};

}  // namespace lapwing::detail
