// Ends one wait of another thread: the one that is under way, or the next.
//
// Thread safety: raise() from any thread and from a signal handler; the rest by the one that waits.
#pragma once

#include <cstdint>

#include "os/kernel.h"
#include "os/thread_words.h"
#include "proto/ring_words.h"

namespace lapwing {

class Interrupt {
 public:
  void raise() {
    flag_.raise();
    ring();
  }
  // Ends the sleep that is under way, if there is one, and no wait: any thread.
  void ring() {
    bump_shared_bell(&bell_);
    futex_wake_all(&bell_);
  }
  // True once for all raises so far.
  bool take() { return flag_.take(); }
  bool is_raised() const { return flag_.is_raised(); }

  // Loaded before is_raised() and the other condition are looked at; sleeps until the bell, or either
  // word, changes.
  std::uint32_t bell() const { return load_bell(&bell_); }
  FutexWord word(std::uint32_t bell) const { return {&bell_, bell}; }
  void wait(std::uint32_t bell, std::uint64_t timeout_ns) const {
    futex_wait(&bell_, bell, timeout_ns);
  }
  // A kernel without futex_waitv sleeps on `other` alone.
  void wait_beside(FutexWord other, std::uint32_t bell, std::uint64_t timeout_ns) const {
    const FutexWord words[] = {other, word(bell)};
    if (!futex_wait_any(words, timeout_ns)) futex_wait(other.word, other.expected, timeout_ns);
  }

 private:
  InterruptFlag flag_;
  std::uint32_t bell_ = 0;
};

}  // namespace lapwing
