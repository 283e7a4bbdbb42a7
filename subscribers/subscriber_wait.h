// How a subscriber's calls wait. A call spins on the next slot, then rests until something may have
// changed. A wait set or an event loop may wait instead.
//
// A call that overlaps a resting one is refused. While a call rests, the read path is closed, so
// that the hot path, which checks nothing else, also fails.
//
// Upkeep (the clock, the socket, the heartbeat) costs more than a poll of the next slot, so kSpins
// empty polls between two upkeeps skip it. With a descriptor, no poll skips it, because event loops
// do not spin.
//
// Invariants
//  1. While a call rests, the attention is 0, so that no other call opens the path.
//  2. The first poll after a rest does not skip the upkeep.
//
// Thread safety: interrupt() from any thread and from a signal handler; another_rests() from any
// thread; all other calls from the calling thread. The descriptor has a helper thread
// (wake_descriptor.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "os/busy_flag.h"
#include "os/deadline.h"
#include "os/interrupt.h"
#include "os/wait_source.h"
#include "os/waiter.h"
#include "subscribers/subscriber_machine.h"
#include "subscribers/wake_descriptor.h"

namespace lapwing {

inline constexpr std::uint32_t kSpins = 64;  // empty polls between upkeeps
// The pause if the subscriber has no client slot, because the publisher then does not wake it.
inline constexpr std::uint64_t kUnheardPauseNs = 1'000'000;
inline constexpr std::uint64_t kInterruptPauseNs = 20'000'000;  // longest sleep without a wake-up

class SubscriberWait {
 public:
  // Borrows the options, the stream and the machine. `interrupt` replaces its own, and must outlive
  // it.
  SubscriberWait(const SubscriberOptions& options, const Stream& stream,
                 const SubscriberMachine& machine, Interrupt* interrupt = nullptr)
      : options_(options),
        stream_(stream),
        cursor_(stream.cursor),
        machine_(machine),
        interrupt_(interrupt != nullptr ? *interrupt : own_interrupt_) {}
  SubscriberWait(const SubscriberWait&) = delete;

  // Ends the resting call or, if there is none, the next one.
  void interrupt() noexcept { interrupt_.raise(); }
  bool another_rests() const { return resting_.is_taken(); }
  void refuse() { misused_ = true; }
  // A call begins.
  void begin() {
    if (!another_rests()) interrupted_ = misused_ = false;
  }
  // The call may wait. A waiter that backs off starts over after each record, even if no wait was
  // needed for it.
  void begin_wait() {
    if (records_waited_ != cursor_.ledger.counters().records) waiter_.reset();
  }
  // Waits a moment after a poll that found nothing. Returns true to poll again, false to end the
  // call. If records were passed over, more may be available, so it only checks whether the call is
  // over.
  bool keep_waiting(std::uint64_t deadline_ns, bool has_passed_over);
  // The error for a call that found nothing.
  Errc why_nothing(std::uint64_t deadline_ns) {
    if (std::exchange(misused_, false)) return Errc::kMisuse;
    if (std::exchange(interrupted_, false)) return Errc::kInterrupted;
    return nothing_by(Deadline::at_monotonic_ns(deadline_ns));
  }
  // Call it in a forked child, which has no resting thread.
  void end_in_child() noexcept { resting_.release(); }
  // A call found something: the next wait begins with spinning.
  void reset() { waiter_.reset(); }
  bool spins() const { return waiter_.spinning(); }

  // True if this empty poll skips the upkeep.
  bool skips_upkeep() {
    if (spins_left_ == 0) return false;
    --spins_left_;
    return true;
  }
  // The next `polls` empty polls skip the upkeep.
  void skip_upkeep(std::uint32_t polls) { spins_left_ = polls; }

  // WaitSource::prepare_wait() and finish_wait(). Requires that there is nothing to hand out.
  std::optional<WakeUp> prepare();
  void finish() { set_rest_.reset(); }

  // Subscriber::fd() and arm(). Requires that no record in memory is waiting to be handed out.
  absl::StatusOr<int> descriptor();
  bool has_descriptor() const { return descriptor_ != nullptr; }
  bool arm();

 private:
  // Held while a call rests. The call has closed the read path.
  struct Rest {
    explicit Rest(SubscriberWait& of) : wait(of), is_held(of.resting_.try_take()) {
      if (is_held) attention_before = std::exchange(wait.cursor_.attention, 0);
    }
    ~Rest() {
      if (!is_held) return;
      wait.cursor_.attention = attention_before;
      wait.misused_ = false;  // by a call that overlapped this one
      wait.resting_.release();
    }
    Rest(const Rest&) = delete;

    SubscriberWait& wait;
    const bool is_held;  // false: another call rests
    Sequence attention_before = 0;
  };

  bool take_interrupt() { return interrupted_ = interrupt_.take(); }
  bool spin();
  bool rest(std::uint64_t deadline_ns);
  // How long the call may sleep on the doorbell.
  std::uint64_t doze_ns() const {
    return stream_.attachment->control() != nullptr ? kParkNsMax : kUnheardPauseNs;
  }
  // If the start is in the future, or in a batch that head does not include yet, any advance of
  // head ends the wait.
  Sequence seen_in_ring() const { return std::min(cursor_.next - 1, cursor_.ring->head()); }

  const SubscriberOptions& options_;
  const Stream& stream_;
  ReadCursor& cursor_;  // the stream's
  const SubscriberMachine& machine_;
  Interrupt own_interrupt_;
  Interrupt& interrupt_;
  Waiter waiter_{options_.wait, &interrupt_};
  BusyFlag resting_;
  bool interrupted_ = false;          // the last call was interrupted
  bool misused_ = false;              // the last call overlapped a resting one
  std::uint32_t spins_left_ = 0;      // empty polls that skip the upkeep
  std::uint64_t records_waited_ = 0;  // delivered before the last wait began
  std::optional<Rest> set_rest_;      // while a wait set sleeps
  std::unique_ptr<WakeDescriptor> descriptor_;
};

}  // namespace lapwing
