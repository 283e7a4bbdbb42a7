// The socket between the two sides of an open channel: wake-ups, and the news that the other side
// has gone.
//
// Thread safety: one thread. Owns the socket.
#pragma once

#include <cstdint>
#include <utility>

#include "os/frame_socket.h"
#include "os/unique_fd.h"

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

  explicit Link(UniqueFd fd) : fd_(std::move(fd)) {}

  int fd() const { return fd_.get(); }

  // Takes the packets that wait, at most kPacketsPerLook, and says whether the other side is still
  // there. One system call if there are none. Any answer but kThere is final.
  Peer look();
  // Sleeps until a packet waits, the other side has gone or `other` is readable, at most
  // `timeout_ns`. Takes nothing. True: `other` is readable.
  bool await(int other, std::uint64_t timeout_ns) const;
  // Sends a wake-up. Never blocks.
  SendOutcome wake();
  // Ends the connection for both, also where a child made by clone() holds the descriptor, too.
  void close();

 private:
  UniqueFd fd_;
  Peer last_ = Peer::kThere;
};

}  // namespace lapwing
