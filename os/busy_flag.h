// Whether a call on an object is under way: one thread at a time may use it, and a call of a second
// one that comes meanwhile is refused.
//
//   BusyFlag  around calls that wait: of two that overlap, one is refused
//   UseMark   around every call, for which an exchange would cost too much: one that overlaps a call
//             that has been under way for a while, as one that waits has, is refused. The same word
//             says in which process that is, a number which a child made by fork() changes.
//
// Thread safety: any thread.
#pragma once

#include <atomic>
#include <cstdint>

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
  explicit UseMark(std::uint32_t process) : process_(process), word_(process) {}

  // Relaxed: refusing is all that it does. A call that is not refused has been ordered after the last
  // one by its caller, or else the two overlap by less than a store takes to be seen.
  bool is_free_in(std::uint32_t process) const {
    return word_.load(std::memory_order_relaxed) == process;
  }
  void set() { word_.store(kInUse, std::memory_order_relaxed); }
  void clear() { word_.store(process_, std::memory_order_relaxed); }

 private:
  static constexpr std::uint32_t kInUse = UINT32_MAX;

  const std::uint32_t process_;
  std::atomic<std::uint32_t> word_;
};

}  // namespace lapwing
