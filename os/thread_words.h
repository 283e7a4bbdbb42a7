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
  // Release; pairs with load(): a reader that sees the value also sees the writer's earlier stores.
  void store(Word value) { word_.store(value, std::memory_order_release); }
  Word load() const { return word_.load(std::memory_order_acquire); }

 private:
  alignas(kWordStride) std::atomic<Word> word_{0};
};

// A flag that any thread may set once and all threads may read: a request to stop, or a final end.
class StickyFlag {
 public:
  // Release; pairs with is_set(): a thread that sees it set also sees the setter's earlier stores.
  void set() { flag_.store(true, std::memory_order_release); }
  bool is_set() const { return flag_.load(std::memory_order_acquire); }

 private:
  std::atomic<bool> flag_{false};
};

// A request from any thread, or from a signal handler, to the thread that waits.
class InterruptFlag {
 public:
  // Release; pairs with take(). The caller then wakes the sleeper.
  void raise() { flag_.store(true, std::memory_order_release); }
  bool is_raised() const { return flag_.load(std::memory_order_acquire); }
  // Returns true once for all raises so far. A raise between the two accesses is included.
  bool take() {
    if (!flag_.load(std::memory_order_relaxed)) return false;
    return flag_.exchange(false, std::memory_order_acquire);
  }

 private:
  std::atomic<bool> flag_{false};
};

// A phase that several threads change. Each change is one step.
template <typename Phase>
class SharedPhase {
 public:
  explicit SharedPhase(Phase first) : phase_(first) {}

  // Acquire; pairs with exchange() and move(): the caller sees stores made before the change.
  Phase load() const { return phase_.load(std::memory_order_acquire); }
  // Release; pairs with load(). Acquire; pairs with move(): the caller sees stores made before that
  // change.
  Phase exchange(Phase next) { return phase_.exchange(next, std::memory_order_acq_rel); }
  // Returns false, and changes nothing, if the phase is not `from`.
  bool move(Phase from, Phase to) {
    return phase_.compare_exchange_strong(from, to, std::memory_order_acq_rel);
  }

 private:
  std::atomic<Phase> phase_;
};

// A count that any thread may increase and read. It orders nothing.
class Counter {
 public:
  void add(Word amount = 1) { count_.fetch_add(amount, std::memory_order_relaxed); }
  Word load() const { return count_.load(std::memory_order_relaxed); }

 private:
  std::atomic<Word> count_{0};
};

}  // namespace lapwing
