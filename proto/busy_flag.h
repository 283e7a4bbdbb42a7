// Whether a call on an object is waiting: one thread at a time may use it, and a second one that
// comes meanwhile is to be told so.
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

}  // namespace lapwing
