// Descriptors that another process sends over a local socket (SCM_RIGHTS), and how they are closed.
//
// The sender decides how long close() takes. A file of a FUSE file system waits for the answer of
// its daemon, and not even SIGKILL ends that wait. A TCP socket with SO_LINGER waits for its other
// end. Both also happen if a packet is received without room for its descriptors, and if a socket is
// closed while such a packet waits there. So a thread that has other work never does any of these:
// close_apart closes in a thread of its own.
//
// Thread safety: any thread. One thread at a time uses a ForeignSocket.
#pragma once

#include <cstddef>
#include <utility>

#include "os/unique_fd.h"

namespace lapwing {

// While close_apart closes this many, listeners of channels take in no new peer.
inline constexpr std::size_t kClosingApartMax = 64;

// The kernel rejects all packets with descriptors that are sent to `socket` from now on
// (SO_PASSRIGHTS, Linux 6.16). False: this kernel cannot.
bool refuse_descriptors(int socket);
// Whether refuse_descriptors works on this kernel.
bool kernel_refuses_descriptors();

// Whether the next packet on `socket` carries descriptors. The packet stays there.
bool carries_descriptors(int socket);

// Whether `fd` is a file in memory, whose close() returns at once.
bool closes_at_once(int fd);

// Closes `fd` in a thread of its own, or in this one if no thread can be started.
void close_apart(UniqueFd fd);
// Calls of close_apart that have not finished.
std::size_t closing_apart();

// Shuts `socket` down for both ends, discards the packets that wait there, and closes it. Never waits
// for the other end.
void close_foreign(UniqueFd socket);

// Closes a listening socket and the connections that were not accepted, in the same way.
void close_listening(UniqueFd socket);

// Owns a socket and closes it by close_foreign.
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
