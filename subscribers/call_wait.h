// How a call of a subscriber waits, and why it gave nothing.
//
// One thread at a time may use a subscriber. A call that comes while another one rests is refused.
// Meanwhile the read path is closed, so the hot path, which looks at nothing else, does not pass
// either, and the attention is 0, so that nothing opens it.
//
// Thread safety: raise() from any thread and from a signal handler; another_rests() from any thread;
// the rest by the one that calls.
#pragma once

#include <cstdint>
#include <utility>

#include "lapwing/error.h"
#include "lapwing/sequence.h"
#include "lapwing/waiting.h"
#include "os/deadline.h"
#include "os/interrupt.h"
#include "os/waiter.h"
#include "proto/busy_flag.h"

namespace lapwing {

class CallWait {
 public:
  // `interrupt`, if there is one, takes the place of its own, and outlives it.
  explicit CallWait(WaitStrategy strategy, Interrupt* interrupt = nullptr)
      : interrupt_(interrupt != nullptr ? *interrupt : own_interrupt_),
        waiter_(strategy, &interrupt_) {}
  CallWait(const CallWait&) = delete;
  CallWait& operator=(const CallWait&) = delete;

  // Ends the call that rests, or else the next one.
  void raise() noexcept { interrupt_.raise(); }
  // A call begins.
  void begin() {
    if (!another_rests()) interrupted_ = misused_ = false;
  }
  bool another_rests() const { return resting_.is_taken(); }
  void refuse() { misused_ = true; }
  // In a forked child, which has no thread that rests.
  void end_in_child() noexcept { resting_.release(); }
  // True once for all raises so far: the call ends.
  bool take_interrupt() { return interrupted_ = interrupt_.take(); }
  // What the call is answered with, if it found nothing.
  Errc why_nothing(std::uint64_t deadline_ns) {
    if (std::exchange(misused_, false)) return Errc::kMisuse;
    if (std::exchange(interrupted_, false)) return Errc::kInterrupted;
    return nothing_by(Deadline::at_monotonic_ns(deadline_ns));
  }
  Waiter& waiter() { return waiter_; }

  // Held while a call rests, which has closed the read path.
  class Rest {
   public:
    Rest(CallWait& wait, Sequence& attention) : wait_(wait), attention_(attention) {
      is_held_ = wait.resting_.try_take();
      if (is_held_) before_ = std::exchange(attention, 0);
    }
    ~Rest() {
      if (!is_held_) return;
      attention_ = before_;
      wait_.misused_ = false;  // that of a call which came meanwhile
      wait_.resting_.release();
    }
    Rest(const Rest&) = delete;
    Rest& operator=(const Rest&) = delete;
    // False: another call rests.
    bool is_held() const { return is_held_; }

   private:
    CallWait& wait_;
    Sequence& attention_;
    Sequence before_ = 0;
    bool is_held_ = false;
  };

 private:
  Interrupt own_interrupt_;
  Interrupt& interrupt_;
  Waiter waiter_;  // borrows interrupt_
  BusyFlag resting_;
  bool interrupted_ = false;  // the last call was ended by it
  bool misused_ = false;      // the last call came while another one rested
};

}  // namespace lapwing
