#include "os/foreign_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <thread>

#include "os/start_thread.h"

namespace lapwing {
namespace {

#if defined(SO_PASSRIGHTS)
constexpr int kPassRights = SO_PASSRIGHTS;
#else
constexpr int kPassRights = 83;  // from Linux 6.16; older kernels return ENOPROTOOPT
#endif

// More than a socket's buffer can hold, even if the packets are empty.
constexpr int kPacketsScannedMax = 4096;

// Used by close_apart's threads until the process ends.
constinit std::mutex closing_mutex;
constinit std::size_t closing = 0;

void count_closing(std::ptrdiff_t change) {
  const std::lock_guard lock(closing_mutex);
  closing += static_cast<std::size_t>(change);
}

bool passes_credentials(int socket) {
  int on = 0;
  socklen_t size = sizeof on;
  return getsockopt(socket, SOL_SOCKET, SO_PASSCRED, &on, &size) == 0 && on != 0;
}

enum class Waiting { kNothing, kPacket, kDescriptors };

// Peeks at the next packet. The control buffer has room only for the credentials of its sender, if
// there are any. So the control data is truncated exactly if the packet has descriptors.
Waiting look_at(int socket, bool has_credentials) {
  alignas(cmsghdr) std::byte control[CMSG_SPACE(sizeof(ucred))];
  std::byte byte;
  iovec part{&byte, sizeof byte};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = has_credentials ? control : nullptr;
  message.msg_controllen = has_credentials ? sizeof control : 0;
  const ssize_t got = recvmsg(socket, &message, MSG_PEEK | MSG_DONTWAIT);
  if (got < 0) return Waiting::kNothing;
  if ((message.msg_flags & MSG_CTRUNC) != 0) return Waiting::kDescriptors;
  // An empty packet has credentials; the end of the connection does not.
  return got > 0 || message.msg_controllen != 0 ? Waiting::kPacket : Waiting::kNothing;
}

// Discards the packets of a socket that was shut down, up to the first with descriptors. Returns
// true if there is one.
bool drops_descriptors(int socket) {
  const int on = 1;
  if (setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0) return true;
  for (int i = 0; i < kPacketsScannedMax; ++i) {
    const Waiting next = look_at(socket, true);
    if (next == Waiting::kDescriptors) return true;
    if (next == Waiting::kNothing) return false;
    std::byte byte;
    if (recv(socket, &byte, sizeof byte, MSG_DONTWAIT) < 0) return true;
  }
  return true;
}

}  // namespace

bool refuse_descriptors(int socket) {
  const int off = 0;
  return setsockopt(socket, SOL_SOCKET, kPassRights, &off, sizeof off) == 0;
}

bool kernel_refuses_descriptors() {
  static const bool refuses = [] {
    const UniqueFd socket =
        UniqueFd::opened_by([] { return ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0); });
    return socket.valid() && refuse_descriptors(socket.get());
  }();
  return refuses;
}

bool carries_descriptors(int socket) {
  return look_at(socket, passes_credentials(socket)) == Waiting::kDescriptors;
}

bool closes_at_once(int fd) {
  return fcntl(fd, F_GET_SEALS) >= 0;
}

void close_apart(UniqueFd fd) {
  const int number = fd.release();
  if (number < 0) return;
  count_closing(1);
  const auto close_it = [number] {
    close(number);
    count_closing(-1);
  };
  std::thread thread;
  if (start_thread(thread, "lapwing-close", close_it).ok()) return thread.detach();
  close_it();
}

std::size_t closing_apart() {
  const std::lock_guard lock(closing_mutex);
  return closing;
}

void close_listening(UniqueFd socket) {
  if (!socket.valid()) return;
  shutdown(socket.get(),
           SHUT_RDWR);  // refuses new connections; accept() still returns the old ones
  for (;;) {
    UniqueFd next = UniqueFd::opened_by(
        [&] { return accept4(socket.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC); });
    if (!next.valid() && errno != EINTR && errno != ECONNABORTED) break;
    close_foreign(std::move(next));
  }
  if (errno != EINVAL && errno != EAGAIN) close_apart(std::move(socket));  // out of descriptors
}

void close_foreign(UniqueFd socket) {
  if (!socket.valid()) return;
  shutdown(socket.get(), SHUT_RDWR);
  if (drops_descriptors(socket.get())) close_apart(std::move(socket));
}

}  // namespace lapwing
