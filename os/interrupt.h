// Ends one wait in another thread: the current one, or else the next.
//
// Thread safety: raise() may be called in any thread and in a signal handler; the other functions
// only in the waiting thread.
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
  // Ends the current sleep, if there is one, but not the wait. May be called in any thread.
  void ring() {
    bump_shared_bell(&bell_);
    futex_wake_all(&bell_);
  }
  // Returns true once for all raises so far.
  bool take() { return flag_.take(); }
  bool is_raised() const { return flag_.is_raised(); }

  // Load the bell before you check is_raised() and the other condition. The waits below sleep until
  // the bell, or the other word, changes.
  std::uint32_t bell() const { return load_bell(&bell_); }
  FutexWord word(std::uint32_t bell) const { return {&bell_, bell}; }
  void wait(std::uint32_t bell, std::uint64_t timeout_ns) const {
    futex_wait(&bell_, bell, timeout_ns);
  }
  // On a kernel without futex_waitv, sleeps only on `other`.
  void wait_beside(FutexWord other, std::uint32_t bell, std::uint64_t timeout_ns) const {
    const FutexWord words[] = {other, word(bell)};
    if (!futex_wait_any(words, timeout_ns)) futex_wait(other.word, other.expected, timeout_ns);
  }

 private:
  InterruptFlag flag_;
  std::uint32_t bell_ = 0;
};

}  // namespace lapwing
