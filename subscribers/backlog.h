// The records that existed when a subscriber joined, up to H, the newest record at that time. The
// publisher makes them durable and answers with F, the sequence up to which everything is durable.
// The subscriber has caught up when all of them are delivered. See steps 1, 2 and 5 of
// docs/explanation/joining.md.
//
// Thread safety: one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/control/client.h"
#include "lapwing/sequence.h"
#include "lapwing/subscriber.h"
#include "subscribers/session_trail.h"

namespace lapwing {

class Backlog {
 public:
  explicit Backlog(const SubscriberOptions& options);

  // Sets H, and also F until a flush returns a higher one.
  void begin(Sequence newest) { joined_at_ = last_ = newest; }
  Sequence joined_at() const { return joined_at_; }

  // Requests that everything up to H be made durable. Errors: those of ControlClient::begin_flush.
  // If the publisher is gone, flushed() returns that error.
  absl::Status ask(ControlClient& control, std::uint64_t now_ns);
  // True if the answer has arrived; a failed journal is an answer. Errors: kPublisherGone
  // (everything up to H is in the files and the ring that it left behind), kTimedOut, kProtocol.
  absl::StatusOr<bool> flushed(ControlClient& control, std::uint64_t now_ns);
  // Called if there is a publisher, but no socket for sending it a request.
  void cannot_ask(Sequence durable, JournalCondition journal);
  std::uint64_t flush_ends_ns() const { return flush_ends_ns_; }
  // The reason why the backlog is not durable; empty if it is.
  const std::string& not_durable() const { return not_durable_; }

  // A state as of `as_of` is delivered, so the backlog includes all of the state's records.
  void extend(Sequence as_of) { last_ = std::max(last_, as_of); }
  // Another history has begun, and `newest` is its newest record. A subscriber catches up only
  // once.
  void restart(Sequence newest) { last_ = newest; }
  // A discarded journal is read first, and its end is not the end of the backlog.
  void put_off() { last_ = kSequenceMax; }

  // The last record of the backlog.
  Sequence last() const { return last_; }
  bool caught_up() const { return caught_up_; }
  // The subscriber has caught up when this record is next; kNeverSequence after that.
  Sequence next_due() const { return caught_up_ ? kNeverSequence : last_ + 1; }
  // Returns true once, when `next` has reached next_due().
  bool step(Sequence next) {
    if (next < next_due()) return false;
    caught_up_ = true;
    return true;
  }

 private:
  void take(const FlushAnswer& answer);

  const std::string bus_;
  const std::uint64_t flush_timeout_ns_;
  std::uint64_t flush_ends_ns_ = 0;
  Sequence joined_at_ = kNoSequence;  // H
  Sequence last_ = kNoSequence;       // F
  bool caught_up_ = false;
  std::string not_durable_;
};

}  // namespace lapwing
