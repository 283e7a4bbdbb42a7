// What producer, consumer and duplex have in common: the session of which each is one end.
//
// Thread safety: as its session. An end that was moved from answers kMisuse to everything.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "channel/session.h"
#include "lapwing/detail/frame_reader.h"
#include "lapwing/detail/frame_writer.h"
#include "lapwing/sequence.h"

namespace lapwing {

class ChannelEnd {
 public:
  // For an event loop, together with prepare_to_poll(); -1 once closed.
  int fd() const;
  // Why the last operation that was not kOk, kWouldBlock or kTimedOut did not succeed.
  const absl::Status& status() const;
  ChannelCounters counters() const;
  Id128 session_id() const;  // another one for each connection

 protected:
  explicit ChannelEnd(std::unique_ptr<ChannelSession> session) : session_(std::move(session)) {}
  ChannelEnd(ChannelEnd&&) = default;
  ChannelEnd& operator=(ChannelEnd&&) = default;
  ~ChannelEnd() = default;

  // The first step of every operation: kOk, or why there is nothing to be done.
  [[gnu::always_inline]] ChannelResult enter() {
    if (session_ == nullptr) [[unlikely]]
      return ChannelResult::kMisuse;
    return session_->enter();
  }
  // The same where a peer that has ended is no reason not to read what it had sent.
  [[gnu::always_inline]] ChannelResult enter_to_read() {
    const ChannelResult entered = enter();
    const bool readable = entered == ChannelResult::kClosed || entered == ChannelResult::kPeerGone;
    return readable ? ChannelResult::kOk : entered;
  }

  ChannelSession& session() { return *session_; }
  bool has_session() const { return session_ != nullptr; }
  ChannelWords& words() { return session_->own_words(); }

  // The two directions of the session.
  FrameWriter make_writer();
  FrameReader make_reader();

  // What both kinds of sender say of a size and of a peer's position that cannot be.
  ChannelResult too_large(std::size_t size, std::uint32_t message_bytes_max);
  ChannelResult released_too_much(const FrameWriter& writer);

 private:
  std::unique_ptr<ChannelSession> session_;  // null: moved from
};

// The end of a session that was opened for it.
template <typename End>
absl::StatusOr<End> end_of(absl::StatusOr<std::unique_ptr<ChannelSession>> session) {
  if (!session.ok()) return session.status();
  return End(std::move(*session));
}

}  // namespace lapwing
