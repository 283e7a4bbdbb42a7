// Whether the session that a subscriber reads goes on: whether its publisher lives, and whether it has
// been silent for too long.
//
// Thread safety: one thread. Borrows the attachment for each look.
#pragma once

#include <chrono>
#include <cstdint>

#include "subscribers/attachment.h"

namespace lapwing {

inline constexpr std::uint64_t kSocketCheckNs = 1'000'000;
inline constexpr std::uint64_t kHeartbeatFreshNs = 2 * kHeartbeatIntervalNs;
inline constexpr std::uint64_t kHeartbeatLostNs = 5 * kHeartbeatIntervalNs;

// Why a session will get no more records. What is in its ring then is still to be read.
enum class Ending {
  kNone,
  kHungUp,   // its socket was closed: by death, by a close, or because this client was dropped
  kSilent,   // its heartbeat stopped; the process may be stopped rather than dead
  kClosed,   // its ring says so
  kRemains,  // there was no publisher to begin with
};

class PublisherWatch {
 public:
  // A publisher is stale once it has published nothing for that long; 0: never.
  explicit PublisherWatch(std::chrono::nanoseconds stale_after);

  // A session is attached, of a publisher or of one that is gone …
  void attach(bool has_publisher) { ending_ = has_publisher ? Ending::kNone : Ending::kRemains; }
  // … and read from now on, by who has so many records.
  void start(std::uint64_t records, std::uint64_t now_ns);
  // It was noticed elsewhere that the socket is closed.
  void hung_up() { ending_ = Ending::kHungUp; }

  Ending ending() const { return ending_; }
  bool ended() const { return ending_ != Ending::kNone; }

  // Looks at the ring's state, and every kSocketCheckNs at the socket and the heartbeat.
  void look(Attachment& attachment, std::uint64_t now_ns);
  // True once for each silence, while the publisher lives. `records`: delivered so far.
  bool stale_due(Attachment& attachment, std::uint64_t records, std::uint64_t now_ns);

 private:
  const std::uint64_t stale_after_ns_;
  Ending ending_ = Ending::kNone;
  std::uint64_t socket_checked_ns_ = 0;
  std::uint64_t records_ = 0;   // that were delivered …
  std::uint64_t since_ns_ = 0;  // … when they last changed
  bool stale_delivered_ = false;
};

}  // namespace lapwing
