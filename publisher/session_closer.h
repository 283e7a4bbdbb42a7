// Ends a session, from the beginning of a close to the removal of the names.
//
// Invariants
//  1. Exactly one call to begin() or leave() returns true. Its caller must see
//     that run() is called once.
//  2. run() ends the parts in this order: the journal, the ring's state, the socket, the names, the
//     file thread, the queue, `sessions`, the ring's lock, the other locks. After a kill at any
//     point, the next start settles the session.
//
// Thread safety: the publishing thread; run() by any one thread.
#pragma once

#include "absl/status/status.h"
#include "os/thread_words.h"
#include "publisher/publisher_control.h"

namespace lapwing {

class SessionCloser {
 public:
  // Borrows all arguments.
  SessionCloser(StartedSession& session, PublisherControl& control, JournalGate& gate)
      : session_(session), control_(control), gate_(gate) {}

  // Begins a close. Returns true if the caller must arrange a call of run().
  bool begin() { return phase_.move(Phase::kOpen, Phase::kClosing); }
  // Like begin(), but no call will return the result, so run() logs any error.
  bool leave() {
    if (phase_.move(Phase::kOpen, Phase::kLeft)) return true;
    phase_.move(Phase::kClosing, Phase::kLeft);
    return false;
  }
  // Ends the session and nudges the gate.
  void run();

  bool has_begun() const { return phase_.load() != Phase::kOpen; }
  bool is_over() const { return phase_.load() == Phase::kClosed; }
  const absl::Status& result() const { return result_; }  // once is_over()

 private:
  enum class Phase : std::uint32_t { kOpen, kClosing, kLeft, kClosed };

  absl::Status remove_names();

  StartedSession& session_;
  PublisherControl& control_;
  JournalGate& gate_;
  SharedPhase<Phase> phase_{Phase::kOpen};
  absl::Status result_;
};

}  // namespace lapwing
