// Whether a call on an object is under way: one thread at a time may use it, and a call of a second
// one that comes meanwhile is refused.
//
//   BusyFlag  around calls that wait: of two that overlap, one is refused
//   UseMark   around every call, for which an exchange would cost too much: one that overlaps a call
//             that has been under way for a while, as one that waits has, is refused
//
// Thread safety: any thread.
#pragma once

#include <atomic>

namespace lapwing {

class BusyFlag {
 public:
  // True for one caller until release(). Acquire, partner release(): the next holder sees what the
  // last one did. Release, partner is_taken(): a call that is refused sees what the holder had done
  // before.
  bool try_take() { return !busy_.exchange(true, std::memory_order_acq_rel); }
  void release() { busy_.store(false, std::memory_order_release); }
  bool is_taken() const { return busy_.load(std::memory_order_acquire); }

 private:
  std::atomic<bool> busy_{false};
};

class UseMark {
 public:
  // Relaxed: refusing is all that it does. A call that is not refused has been ordered after the last
  // one by its caller, or else the two overlap by less than a store takes to be seen.
  bool is_set() const { return in_use_.load(std::memory_order_relaxed); }
  void set() { in_use_.store(true, std::memory_order_relaxed); }
  void clear() { in_use_.store(false, std::memory_order_relaxed); }

 private:
  std::atomic<bool> in_use_{false};
};

}  // namespace lapwing
