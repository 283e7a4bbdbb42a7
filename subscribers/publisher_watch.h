// Tracks whether the session that a subscriber reads continues: whether its publisher is alive, and
// whether it has been silent for too long.
//
// Thread safety: one thread. Borrows the attachment for each call.
#pragma once

#include <chrono>
#include <cstdint>

#include "subscribers/attachment.h"

namespace lapwing {

inline constexpr std::uint64_t kSocketCheckNs = 1'000'000;
inline constexpr std::uint64_t kHeartbeatFreshNs = 2 * kHeartbeatIntervalNs;
inline constexpr std::uint64_t kHeartbeatLostNs = 5 * kHeartbeatIntervalNs;

// Why a session will get no more records. Records in its ring can still be read.
enum class Ending {
  kNone,
  kHungUp,   // its socket was closed: by death, by a close, or because this client was dropped
  kSilent,   // its heartbeat stopped; the process may be stopped rather than dead
  kClosed,   // its ring is marked as closed
  kRemains,  // it had no publisher from the start
};

class PublisherWatch {
 public:
  // A publisher is stale if it has published nothing for this long; 0: never.
  explicit PublisherWatch(std::chrono::nanoseconds stale_after);

  // A session is attached, with a publisher or without one …
  void attach(bool has_publisher) { ending_ = has_publisher ? Ending::kNone : Ending::kRemains; }
  // … and from now on its records are read. `records`: delivered so far.
  void start(std::uint64_t records, std::uint64_t now_ns);
  // The caller has found that the socket is closed.
  void hung_up() { ending_ = Ending::kHungUp; }

  Ending ending() const { return ending_; }
  bool ended() const { return ending_ != Ending::kNone; }

  // Checks the ring's state and, every kSocketCheckNs, the socket and the heartbeat.
  void look(Attachment& attachment, std::uint64_t now_ns);
  // Returns true once for each silence while the publisher is alive. `records`: delivered so far.
  bool stale_due(Attachment& attachment, std::uint64_t records, std::uint64_t now_ns);

 private:
  const std::uint64_t stale_after_ns_;
  Ending ending_ = Ending::kNone;
  std::uint64_t socket_checked_ns_ = 0;
  std::uint64_t records_ = 0;   // delivered records …
  std::uint64_t since_ns_ = 0;  // … and when the number last changed
  bool stale_delivered_ = false;
};

}  // namespace lapwing
