// The gate between the publish path and the journal: how far the publisher may write.
//
// The file thread raises the limit as blocks reach the disk; the publishing thread compares a
// sequence with the limit it already holds and comes here only when that is reached. Waiting is a
// futex on a private word that changes before every wake (proto/shared_words.h, load_bell).
//
// Thread safety: raise, end and nudge by the file thread; the rest by the publishing thread.
#pragma once

#include <cstdint>

#include "lapwing/sequence.h"
#include "os/kernel.h"
#include "proto/shared_words.h"

namespace lapwing {

inline constexpr std::uint64_t kGateWaitNsMax =
    100'000'000;  // one futex wait; the waiter looks again

class JournalGate {
 public:
  // The publisher may write every sequence up to `limit`. Never lowered.
  void raise(Sequence limit) {
    if (limit <= limit_.load()) return;
    limit_.store(limit);
    ring();
  }
  // Publishing has ended: it failed and the publisher was told to stop.
  void end() {
    ended_.set();
    ring();
  }

  // Something else that the publishing thread may be waiting for has moved: durable.
  void nudge() { ring(); }

  Sequence limit() const { return limit_.load(); }
  bool ended() const { return ended_.is_set(); }

  // The bell to hand to wait(), loaded before the condition is looked at.
  std::uint32_t bell() const { return load_bell(&bell_); }
  // Sleeps until the bell differs from `seen`, at most kGateWaitNsMax.
  void wait(std::uint32_t seen) const { futex_wait(&bell_, seen, kGateWaitNsMax); }

 private:
  void ring() {
    bump_bell(&bell_);
    futex_wake_all(&bell_);
  }

  SingleWriterWord limit_;
  StickyFlag ended_;
  std::uint32_t bell_ = 0;
};

}  // namespace lapwing
