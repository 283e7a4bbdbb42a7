// What can be waited for beside others of its kind: a subscriber or an end of a channel, as a wait
// set (wait_set/) sees it.
//
// A set looks at its sources in turn. When none is ready it lets each prepare, sleeps once on all
// that they name, and lets each finish:
//
//     is_ready() …        false, each of them
//     prepare_wait() …    each names what wakes it, and has looked once more since that may happen
//     one sleep           on all words and descriptors, until the earliest wake_by_ns
//     finish_wait() …     of those that prepared
//
// So a source does in a set what it does in a wait of its own, and with the same code: its upkeep
// in is_ready(), and between prepare_wait() and finish_wait() the last look before a sleep, which
// no wake-up escapes. Meanwhile its other calls are answered with misuse.
//
// Thread safety: as the source; the set's calls count as calls of the source.
// Ownership: none. A source that goes leaves its owner, and may outlive it.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "os/kernel.h"

namespace lapwing {

// What wakes a source that has nothing now. Its descriptor, if it has one, wakes it as well.
struct WakeUp {
  std::optional<FutexWord> word = std::nullopt;
  // When it has something to do of its own, at the latest (CLOCK_MONOTONIC).
  std::uint64_t wake_by_ns = std::numeric_limits<std::uint64_t>::max();
};

class WaitSource;

class WaitSourceOwner {
 public:
  // The source goes, and is not to be touched any more after this call.
  virtual void leave(WaitSource& source) noexcept = 0;

 protected:
  ~WaitSourceOwner() = default;
};

class WaitSource {
 public:
  // Whether a call that reads, or sends, would have an answer now: data, an event, the end, an
  // error. Never blocks, and never takes anything from the caller's point of view.
  virtual bool is_ready() = 0;
  // Nothing: the source has not prepared; ask is_ready() again at once.
  virtual std::optional<WakeUp> prepare_wait() = 0;
  virtual void finish_wait() = 0;
  // False: nothing wakes it, so that a set may not sleep for it.
  virtual bool can_sleep() const { return true; }
  // Readable when it may be ready, while it is prepared; -1: it has none. One and the same for as
  // long as the source has not ended.
  virtual int wake_fd() const { return -1; }

  WaitSourceOwner* owner() const { return owner_; }
  void set_owner(WaitSourceOwner* owner) { owner_ = owner; }

  WaitSource(const WaitSource&) = delete;
  WaitSource& operator=(const WaitSource&) = delete;

 protected:
  WaitSource() = default;
  // Only before it is in a set.
  WaitSource(WaitSource&&) noexcept {}
  WaitSource& operator=(WaitSource&&) = delete;
  ~WaitSource() { leave_owner(); }

  // For a destructor, before it closes wake_fd().
  void leave_owner() noexcept {
    if (WaitSourceOwner* const owner = std::exchange(owner_, nullptr)) owner->leave(*this);
  }

 private:
  WaitSourceOwner* owner_ = nullptr;
};

}  // namespace lapwing
