#include "bench/socket_pair.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/machine.h"

namespace lapwing::bench {

SocketPair::SocketPair(int type, std::size_t buffer_bytes) {
  int fds[2];
  if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, fds) != 0) {
    fail(absl::StrCat("socketpair: ", std::strerror(errno)));
  }
  sending_ = fds[0];
  receiving_ = fds[1];
  const int bytes = static_cast<int>(buffer_bytes);
  for (const int fd : fds) {
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
  }
}

SocketPair::~SocketPair() {
  close(sending_);
  close(receiving_);
}

void SocketPair::send(const std::byte* message, std::size_t bytes) const {
  while (bytes > 0) {
    const ssize_t sent = ::send(sending_, message, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) fail(absl::StrCat("sending over a socket: ", std::strerror(errno)));
    message += sent;
    bytes -= static_cast<std::size_t>(sent);
  }
}

void SocketPair::receive(std::byte* message, std::size_t bytes) const {
  while (bytes > 0) {
    const ssize_t got = recv(receiving_, message, bytes, MSG_WAITALL);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(absl::StrCat("receiving from a socket: ", std::strerror(errno)));
    if (got == 0) fail("the other side closed its socket");
    message += got;
    bytes -= static_cast<std::size_t>(got);
  }
}

bool SocketPair::takes(std::size_t bytes) const {
  const std::vector<std::byte> message(bytes);
  const ssize_t sent = ::send(sending_, message.data(), bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
  return sent == static_cast<ssize_t>(bytes);
}

}  // namespace lapwing::bench
