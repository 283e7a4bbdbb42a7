// Words that the threads of one process share.
#pragma once

#include <atomic>
#include <cstdint>

#include "lapwing/detail/atomic_word.h"
#include "proto/ring_layout.h"

namespace lapwing {

// A sequence or counter with one writer thread and any readers, in private memory.
class SingleWriterWord {
 public:
  // Release, partner load(): what the writer did before is visible to who sees the value.
  void store(Word value) { word_.store(value, std::memory_order_release); }
  Word load() const { return word_.load(std::memory_order_acquire); }

 private:
  alignas(kWordStride) std::atomic<Word> word_{0};
};

// How a thread that sleeps on an eventfd lets the publish path know, for the price of one plain
// load a record.
//
//     sleeper (service or file thread)          publishing thread
//     F1 flag = 1                               Q1 head = n  (W4)
//     F2 membarrier(PRIVATE_EXPEDITED)          Q2 compiler barrier
//     F3 look at head; moved: flag = 0, go on   Q3 if flag: flag = 0, write the eventfd
//     F4 sleep on the eventfd
//
// The membarrier makes the publishing thread execute a full barrier at some point between F1 and
// F3. If that point is before Q1, then Q3 sees F1 and writes the eventfd. If it is after Q1, then
// F3 sees the new head. Without F2, or with Q3 before Q1, a record can be published that nobody is
// told of.
class IdleFlag {
 public:
  // F1. The caller issues F2 next.
  void raise() { flag_.store(1, std::memory_order_relaxed); }
  // F3, head has moved: back to work.
  void lower() { flag_.store(0, std::memory_order_relaxed); }
  // Q2 and the look of Q3.
  bool is_raised() const {
    std::atomic_signal_fence(std::memory_order_seq_cst);  // Q2
    return flag_.load(std::memory_order_relaxed) != 0;
  }
  // Q2 and Q3. True once per raise: the caller writes the eventfd.
  bool take() {
    if (!is_raised()) return false;
    flag_.store(0, std::memory_order_relaxed);
    return true;
  }

 private:
  alignas(kWordStride) std::atomic<std::uint32_t> flag_{0};
};

// Set once by any thread, seen by all: a request to stop, an end that is final.
class StickyFlag {
 public:
  // Release, partner is_set(): what the setter did before is visible to who sees it set.
  void set() { flag_.store(true, std::memory_order_release); }
  bool is_set() const { return flag_.load(std::memory_order_acquire); }

 private:
  std::atomic<bool> flag_{false};
};

// A request that any thread, or a signal handler, makes of the one that waits.
class InterruptFlag {
 public:
  // Release, partner take(). The caller then wakes the sleeper.
  void raise() { flag_.store(true, std::memory_order_release); }
  bool is_raised() const { return flag_.load(std::memory_order_acquire); }
  // True once for all raises so far. A raise between the two accesses is one of them.
  bool take() {
    if (!flag_.load(std::memory_order_relaxed)) return false;
    return flag_.exchange(false, std::memory_order_acquire);
  }

 private:
  std::atomic<bool> flag_{false};
};

// A count that any thread may raise and any may read; it orders nothing.
class Counter {
 public:
  void add(Word amount = 1) { count_.fetch_add(amount, std::memory_order_relaxed); }
  Word load() const { return count_.load(std::memory_order_relaxed); }

 private:
  std::atomic<Word> count_{0};
};

}  // namespace lapwing
