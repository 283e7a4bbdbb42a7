// Closes descriptors received over a local socket (SCM_RIGHTS), and sockets that may hold some.
//
// The sender determines how long close() takes. Closing a file on a FUSE file system waits for its
// daemon, and not even SIGKILL ends that wait. Closing a TCP socket with SO_LINGER waits for its
// peer. Both also happen if a packet is received without room for its descriptors, and if a socket
// is closed while such a packet is waiting in it. A thread with other work must not do any of
// these, so close_apart closes in a separate thread.
//
// Thread safety: any thread. One thread at a time uses a ForeignSocket.
#pragma once

#include <cstddef>
#include <utility>

#include "os/unique_fd.h"

namespace lapwing {

// While close_apart closes this many descriptors, channel listeners accept no new peer.
inline constexpr std::size_t kClosingApartMax = 64;

// Makes the kernel reject all packets with descriptors that are sent to `socket` from now on
// (SO_PASSRIGHTS, Linux 6.16). Returns false if this kernel does not support it.
bool refuse_descriptors(int socket);
// Returns whether refuse_descriptors works on this kernel.
bool kernel_refuses_descriptors();

// Returns whether the next packet on `socket` carries descriptors. The packet stays in the socket.
bool carries_descriptors(int socket);

// Returns whether `fd` is a file in memory, whose close() returns at once.
bool closes_at_once(int fd);

// Closes `fd` in a separate thread, or in this one if no thread can be started.
void close_apart(UniqueFd fd);
// Returns the number of calls to close_apart that have not finished.
std::size_t closing_apart();

// Shuts `socket` down for both ends, discards the packets waiting in it, and closes it. Never
// waits for the other end.
void close_foreign(UniqueFd socket);

// Closes a listening socket and the connections that were not accepted, in the same way.
void close_listening(UniqueFd socket);

// Owns a socket and closes it with close_foreign.
class ForeignSocket {
 public:
  ForeignSocket() = default;
  explicit ForeignSocket(UniqueFd fd) : fd_(std::move(fd)) {}
  ForeignSocket(ForeignSocket&&) noexcept = default;
  ForeignSocket& operator=(ForeignSocket&& other) noexcept {
    if (this != &other) reset(std::move(other.fd_));
    return *this;
  }
  ~ForeignSocket() { reset(); }

  int get() const { return fd_.get(); }
  bool valid() const { return fd_.valid(); }
  void reset(UniqueFd fd = UniqueFd()) {
    if (fd_.valid()) close_foreign(std::move(fd_));
    fd_ = std::move(fd);
  }
  // For a socket that another process continues to use. The caller closes it.
  UniqueFd release() { return std::move(fd_); }

 private:
  UniqueFd fd_;
};

}  // namespace lapwing
