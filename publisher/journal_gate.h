// The gate between the publish path and the journal. It limits how far the publisher may write.
//
// The file thread raises the limit as blocks reach the disk. The publishing thread compares each
// sequence with its copy of the limit, and calls the gate only when it reaches that copy. Waiting
// is a futex wait on a private word that changes before every wake (proto/ring_words.h, load_bell).
//
// Thread safety: raise and end by the file thread; nudge by any thread and by a signal handler; the
// rest by the publishing thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include "lapwing/sequence.h"
#include "os/kernel.h"
#include "os/thread_words.h"
#include "proto/ring_words.h"

namespace lapwing {

inline constexpr std::uint64_t kGateWaitNsMax =
    100'000'000;  // one futex wait, after which the waiter checks again

class JournalGate {
 public:
  // Allows the publisher to write every sequence up to `limit`. The limit is never lowered.
  void raise(Sequence limit) {
    if (limit <= limit_.load()) return;
    limit_.store(limit);
    ring();
  }
  // Ends publishing, because the journal failed and the publisher is set to stop in that case.
  void end() {
    ended_.set();
    ring();
  }

  // Wakes the publishing thread, because something else that it may wait for has changed: durable,
  // or an interrupt.
  void nudge() { ring(); }

  Sequence limit() const { return limit_.load(); }
  bool ended() const { return ended_.is_set(); }

  // The bell to pass to wait(). Load it before checking the condition.
  std::uint32_t bell() const { return load_bell(&bell_); }
  // Sleeps until the bell differs from `seen`, but no later than deadline_ns and for at most
  // kGateWaitNsMax.
  void wait(std::uint32_t seen, std::uint64_t deadline_ns) const {
    const std::uint64_t now_ns = monotonic_ns();
    if (deadline_ns <= now_ns) return;
    futex_wait(&bell_, seen, std::min(deadline_ns - now_ns, kGateWaitNsMax));
  }

 private:
  void ring() {
    bump_shared_bell(&bell_);
    futex_wake_all(&bell_);
  }

  SingleWriterWord limit_;
  StickyFlag ended_;
  std::uint32_t bell_ = 0;
};

}  // namespace lapwing
