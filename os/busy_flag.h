// Flags that mark a call on an object as under way. Only one thread at a time may use the object,
// and a call by a second thread is refused.
//
//   BusyFlag  for calls that wait: of two overlapping calls, one is refused
//   UseMark   for every call, where an exchange would cost too much: refuses a call that overlaps
//             one that has been under way for a while, such as one that waits. The same word
//             contains the number of the process, which differs in a child made by fork().
//
// Thread safety: any thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace lapwing {

class BusyFlag {
 public:
  // Returns true to one caller until release(). Acquire; pairs with release(): the next holder sees
  // the last holder's stores. Release; pairs with is_taken(): a refused call sees the stores from
  // before the holder took the flag.
  bool try_take() { return !busy_.exchange(true, std::memory_order_acq_rel); }
  void release() { busy_.store(false, std::memory_order_release); }
  bool is_taken() const { return busy_.load(std::memory_order_acquire); }

 private:
  std::atomic<bool> busy_{false};
};

class UseMark {
 public:
  explicit UseMark(std::uint32_t process) : process_(process), word_(process) {}

  // Relaxed, because it only refuses calls. The caller orders a call that is not refused after the
  // last one. Otherwise the two overlap by less time than a store needs to become visible.
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
