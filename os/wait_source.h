// The interface through which a wait set (wait_set/) waits for a source, such as a subscriber or a
// channel end.
//
// A set polls its sources in turn. If none is ready, it lets each source prepare, sleeps once on
// all words and descriptors that they return, and lets each finish:
//
//     is_ready() …        false for each source
//     prepare_wait() …    each returns its wake-up, and polls once more after that is in effect
//     one sleep           on all words and descriptors, until the earliest wake_by_ns
//     finish_wait() …     of those that prepared
//
// So a source works in a set as in its own waits, with the same code. is_ready() does its upkeep.
// The last poll before a sleep is between prepare_wait() and finish_wait(), so no wake-up is
// missed. In between, its other calls return misuse.
//
// Thread safety: that of the source; the set's calls count as calls on the source.
// Ownership: none. A source leaves its owner when it is destroyed, and may outlive the owner.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "os/kernel.h"

namespace lapwing {

// The wake-ups of a source that is not ready. Its descriptor, if it has one, also wakes it.
struct WakeUp {
  std::optional<FutexWord> word = std::nullopt;
  // The latest time for its own upkeep (CLOCK_MONOTONIC).
  std::uint64_t wake_by_ns = std::numeric_limits<std::uint64_t>::max();
};

class WaitSource;

class WaitSourceOwner {
 public:
  // Called when the source is destroyed. Do not use the source after this call.
  virtual void leave(WaitSource& source) noexcept = 0;

 protected:
  ~WaitSourceOwner() = default;
};

class WaitSource {
 public:
  // Returns whether a call that reads or sends would have a result now: data, an event, the end, or
  // an error. Never blocks, and takes nothing that the caller would see.
  virtual bool is_ready() = 0;
  // Returns nullopt if the source has not prepared. Then call is_ready() again at once.
  virtual std::optional<WakeUp> prepare_wait() = 0;
  virtual void finish_wait() = 0;
  // False: nothing wakes it, so a set that contains it must not sleep.
  virtual bool can_sleep() const { return true; }
  // While it is prepared, readable when it may be ready; -1: it has no descriptor. Does not change
  // until the source has ended.
  virtual int wake_fd() const { return -1; }

  WaitSourceOwner* owner() const { return owner_; }
  void set_owner(WaitSourceOwner* owner) { owner_ = owner; }

  WaitSource(const WaitSource&) = delete;
  WaitSource& operator=(const WaitSource&) = delete;

 protected:
  WaitSource() = default;
  // Only for a source that is not in a set yet.
  WaitSource(WaitSource&&) noexcept {}
  WaitSource& operator=(WaitSource&&) = delete;
  ~WaitSource() { leave_owner(); }

  // Call it in a destructor, before wake_fd() is closed.
  void leave_owner() noexcept {
    if (WaitSourceOwner* const owner = std::exchange(owner_, nullptr)) owner->leave(*this);
  }

 private:
  WaitSourceOwner* owner_ = nullptr;
};

}  // namespace lapwing
