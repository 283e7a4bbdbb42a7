// Looks for a session to attach to, a step at a time: a publisher that answers, or what one has
// left.
//
//   looking   every kSearchIntervalNs: connect and send Hello; no answer: read bus.json
//   greeting  Hello is sent, Welcome is awaited, at most until the greeting's deadline
//
// What a dead session left is taken at once if bus.json says that it was closed, otherwise after
// kRemainsGraceNs without an answer: a publisher that is just starting announces its session a
// moment before it opens the socket. A session that was read to its end is not taken a second time,
// unless it was closed since: then it had not ended.
//
// The search is given up `reattach` after its first step, but not while something was found and
// the next steps show what it is.
//
// Thread safety: one thread. Owns the socket until the attachment does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/control/client.h"
#include "lapwing/sequence.h"
#include "lapwing/subscriber.h"
#include "snapshot/bus_directory.h"
#include "subscribers/attachment.h"

namespace lapwing {

inline constexpr std::uint64_t kSearchIntervalNs = 10'000'000;
// Where a publisher refuses, and what it describes cannot be followed: each refusal is counted and logged.
inline constexpr std::uint64_t kRefusedIntervalNs = 1'000'000'000;
inline constexpr std::uint64_t kRemainsGraceNs = 500'000'000;
inline constexpr std::uint64_t kUndecidedNsMax = 2 * kRemainsGraceNs;

// The session that was read last.
struct LeftSession {
  Id128 id;                     // zero: it may be taken again, if it is found closed
  bool closed = false;          // its end was a close
  std::string how = {};         // it ended, in words
  Sequence next = kNoSequence;  // the subscriber goes on with this one
  // The last sequence, if the end is reported only once the session does not answer again.
  std::optional<Sequence> unreported = {};
};

class BusSearch {
 public:
  explicit BusSearch(const SubscriberOptions& options);

  // Begins to look for what comes after a session, from the next step on. The first search needs
  // none.
  void start(LeftSession left);
  // Closes what is open.
  void stop();

  // One step; never blocks. The session, if one was found; nothing if not yet. Errors are final: no
  // permission, another ABI, a refusal, damage, kTimedOut for a publisher that accepts and says
  // nothing; where one was left, that is kPublisherGone.
  absl::StatusOr<std::optional<Attachment>> step(std::uint64_t now_ns);

  // The last attempt found no publisher, or lost the one that it had found.
  bool unanswered() const { return !greeting_ && !unanswered_.ok(); }
  // After a step: ok, or why the search is given up: kNoBus; kPublisherGone where one was left.
  absl::Status given_up(std::uint64_t now_ns) const;
  const ClientOptions& client_options() const { return client_options_; }
  // How the session ended that was left last, in words.
  std::string left() const { return left_ ? left_->how : ""; }
  // The unreported end of that session. The next call returns nullopt.
  std::optional<Sequence> take_unreported() {
    return left_ ? std::exchange(left_->unreported, std::nullopt) : std::nullopt;
  }

  // When the next step is due, and the descriptor that may make it due earlier (-1: none).
  std::uint64_t next_step_ns() const { return greeting_ ? greeting_ends_ns_ : next_step_ns_; }
  int fd() const { return greeting_ ? greeting_->fd() : -1; }

 private:
  bool is_known(const BusDescription& bus) const {
    return bus.session_id == known_ && (known_closed_ || !bus.closed);
  }
  using Found = absl::StatusOr<std::optional<Attachment>>;
  Found look(std::uint64_t now_ns);
  Found connect(std::uint64_t now_ns);
  Found greet(std::uint64_t now_ns);
  Found look_at_remains(std::uint64_t now_ns);
  Found nobody(absl::Status reason);
  Found follow_without_place(const absl::Status& refused, std::uint64_t now_ns);
  absl::Status give_up(const absl::Status& reason) const;

  const std::string directory_;
  const std::uint64_t reattach_ns_;
  const std::uint64_t flush_timeout_ns_;
  ClientOptions client_options_;
  std::optional<std::uint64_t> ends_ns_;  // from the first step on
  std::uint64_t next_step_ns_ = 0;
  std::uint64_t greeting_ends_ns_ = 0;
  std::optional<ControlClient> greeting_;
  absl::Status unanswered_;
  std::optional<LeftSession> left_;     // none: it is the first search
  Id128 known_;                         // session that was read to its end …
  bool known_closed_ = false;           // … and it was a close
  Id128 remains_;                       // session in bus.json without a publisher that answers …
  std::uint64_t remains_since_ns_ = 0;  // … since then
};

}  // namespace lapwing
