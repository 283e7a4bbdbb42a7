// What existed when a subscriber joined: up to H, the newest record then, which the publisher makes
// durable; it answers with F, how far everything is. Once all of it is delivered, the subscriber has
// caught up. Steps 1, 2 and 5 of docs/explanation/joining.md.
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

  // The newest record is H; that is F, too, until a flush says more.
  void begin(Sequence newest) { joined_at_ = last_ = newest; }
  Sequence joined_at() const { return joined_at_; }

  // Asks for everything up to H to be durable. Errors: as for ControlClient::begin_flush; a
  // publisher that is gone shows in flushed().
  absl::Status ask(ControlClient& control, std::uint64_t now_ns);
  // Whether the answer is there; that the journal has failed is one. Errors: kPublisherGone, where
  // everything up to H is in what it left; kTimedOut; kProtocol.
  absl::StatusOr<bool> flushed(ControlClient& control, std::uint64_t now_ns);
  // There is a publisher, and no socket to ask it by.
  void cannot_ask(Sequence durable, JournalCondition journal);
  std::uint64_t flush_ends_ns() const { return flush_ends_ns_; }
  // Why it is not durable, in words; empty if it is.
  const std::string& not_durable() const { return not_durable_; }

  // A state as of that sequence is delivered: what it holds belongs to it.
  void extend(Sequence as_of) { last_ = std::max(last_, as_of); }
  // Another history has begun and this is its newest record. Nobody catches up twice.
  void restart(Sequence newest) { last_ = newest; }
  // A discarded journal is read first; its end is not the end of the backlog.
  void put_off() { last_ = kSequenceMax; }

  // Its last record.
  Sequence last() const { return last_; }
  bool caught_up() const { return caught_up_; }
  // Before this record the subscriber has caught up; kNeverSequence once it has.
  Sequence next_due() const { return caught_up_ ? kNeverSequence : last_ + 1; }
  // True once: when `next` has reached next_due().
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
