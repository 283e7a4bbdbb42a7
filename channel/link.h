// The socket between the two sides of an open channel. It carries wake-ups, and reports that the
// other side has ended.
//
// Thread safety: one thread. Owns the socket.
#pragma once

#include <cstdint>
#include <utility>

#include "os/foreign_socket.h"
#include "os/frame_socket.h"

namespace lapwing {

// Each sleep leaves one packet. The limit prevents an endless loop if a peer floods the socket.
inline constexpr int kPacketsPerLook = 64;

class Link {
 public:
  enum class Peer {
    kThere,
    kGone,       // its socket is closed: it ended, or closed the channel
    kViolation,  // it sent something that is invalid on an open channel
  };

  // For use after the handshake. From now on the kernel rejects descriptors (since Linux 6.16).
  explicit Link(ForeignSocket fd);

  int fd() const { return fd_.get(); }

  // Takes the waiting packets, at most kPacketsPerLook, and returns whether the other side still
  // exists. One system call if there are none, three before Linux 6.16. Any result except kThere is
  // final.
  Peer look();
  // Sleeps until a packet is waiting, the other side has ended or `other` is readable, for at most
  // `timeout_ns`. Takes no packet. True if `other` is readable.
  bool await(int other, std::uint64_t timeout_ns) const;
  // Sends a wake-up. Never blocks.
  SendOutcome wake();
  // Ends the connection for both sides, even if a child made by clone() also has the descriptor.
  void close();

 private:
  bool brings_descriptors();

  ForeignSocket fd_;
  // A packet that was sent earlier may carry descriptors.
  bool may_bring_descriptors_ = true;
  bool rejects_descriptors_ = false;
  Peer last_ = Peer::kThere;
};

}  // namespace lapwing
