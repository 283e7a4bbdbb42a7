// Searches for a session to attach to, one step at a time: a publisher that answers, or the files
// of one that ended.
//
//   looking   every kSearchIntervalNs: connect and send Hello; no answer: read bus.json
//   greeting  Hello was sent, Welcome is awaited until the greeting's deadline at the latest
//
// If bus.json records a clean close, the files of an ended session are taken at once. Otherwise
// they are taken after kRemainsGraceNs without an answer, because a starting publisher writes its
// session to bus.json a moment before it opens the socket. A session that was read to its end is
// not taken again, unless it has been closed since, because then it had not ended when it was read.
//
// The search ends `reattach` after its first step, unless it has found something that the next
// steps must still identify.
//
// Thread safety: one thread. Owns the socket until the attachment takes it.
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
// The interval if a publisher refuses and the bus cannot be followed through bus.json. It is long
// because the publisher counts and logs each refusal.
inline constexpr std::uint64_t kRefusedIntervalNs = 1'000'000'000;
inline constexpr std::uint64_t kRemainsGraceNs = 500'000'000;
inline constexpr std::uint64_t kUndecidedNsMax = 2 * kRemainsGraceNs;

// The session that was read last.
struct LeftSession {
  Id128 id;                     // zero: the session may be taken again
  bool closed = false;          // it was closed cleanly
  std::string how = {};         // how it ended, as text
  Sequence next = kNoSequence;  // the subscriber continues at this sequence
  // Its last sequence. Set if its end is reported only once the session does not answer again.
  std::optional<Sequence> unreported = {};
};

class BusSearch {
 public:
  explicit BusSearch(const SubscriberOptions& options);

  // Starts searching for the session after `left` with the next step. The first search does not
  // need this call.
  void start(LeftSession left);
  // Closes the open connection.
  void stop();

  // Runs one step; never blocks. Returns the session that was found, or nullopt if none was found
  // yet. Errors are final: no permission, a different ABI, a refusal, damage, and kTimedOut if a
  // publisher accepts but sends nothing (kPublisherGone if a session was left).
  absl::StatusOr<std::optional<Attachment>> step(std::uint64_t now_ns);

  // The last attempt found no publisher, or lost the one that it had found.
  bool unanswered() const { return !greeting_ && !unanswered_.ok(); }
  // After a step: ok, or why the search ends: kNoBus, or
  // kPublisherGone if a session was left.
  absl::Status given_up(std::uint64_t now_ns) const;
  const ClientOptions& client_options() const { return client_options_; }
  // How the session that was last left ended, as text.
  std::string left() const { return left_ ? left_->how : ""; }
  // That session's unreported end. The next call returns nullopt.
  std::optional<Sequence> take_unreported() {
    return left_ ? std::exchange(left_->unreported, std::nullopt) : std::nullopt;
  }

  // The time of the next step, and the descriptor that may make it due earlier (-1: none).
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
  Found retry_if_absent(absl::Status reason);
  Found follow_without_place(const absl::Status& refused, std::uint64_t now_ns);
  absl::Status give_up(const absl::Status& reason) const;

  const std::string directory_;
  const std::uint64_t reattach_ns_;
  const std::uint64_t flush_timeout_ns_;
  ClientOptions client_options_;
  std::optional<std::uint64_t> ends_ns_;  // set by the first step
  std::uint64_t next_step_ns_ = 0;
  std::uint64_t greeting_ends_ns_ = 0;
  std::optional<ControlClient> greeting_;
  absl::Status unanswered_;
  std::optional<LeftSession> left_;     // nullopt: this is the first search
  Id128 known_;                         // session that was read to its end …
  bool known_closed_ = false;           // … and whether it was closed
  Id128 remains_;                       // session in bus.json whose publisher does not answer …
  std::uint64_t remains_since_ns_ = 0;  // … since this time
};

}  // namespace lapwing
