// The socket between the two sides of an open channel: wake-ups, and the news that the other side
// has gone.
//
// Thread safety: one thread. Owns the socket.
#pragma once

#include <cstdint>
#include <utility>

#include "os/foreign_socket.h"
#include "os/frame_socket.h"

namespace lapwing {

// One sleep leaves one packet; a peer that floods the socket must not hold anyone in a loop.
inline constexpr int kPacketsPerLook = 64;

class Link {
 public:
  enum class Peer {
    kThere,
    kGone,       // its socket is closed: it ended, or closed the channel
    kViolation,  // it sent what has no place on an open channel
  };

  // After the handshake. From now on the kernel rejects descriptors (from Linux 6.16 on).
  explicit Link(ForeignSocket fd);

  int fd() const { return fd_.get(); }

  // Takes the packets that wait, at most kPacketsPerLook, and says whether the other side is still
  // there. One system call if there are none, three before Linux 6.16. Any answer but kThere is final.
  Peer look();
  // Sleeps until a packet waits, the other side has gone or `other` is readable, at most
  // `timeout_ns`. Takes nothing. True: `other` is readable.
  bool await(int other, std::uint64_t timeout_ns) const;
  // Sends a wake-up. Never blocks.
  SendOutcome wake();
  // Ends the connection for both, also where a child made by clone() holds the descriptor, too.
  void close();

 private:
  bool brings_descriptors();

  ForeignSocket fd_;
  // A packet that was sent earlier may carry some.
  bool may_bring_descriptors_ = true;
  bool rejects_descriptors_ = false;
  Peer last_ = Peer::kThere;
};

}  // namespace lapwing
