#include "monitor/http/listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/listen_lock.h"
#include "os/local_socket.h"
#include "os/system_error.h"

namespace lapwing {
namespace {

constexpr int kHttpBacklog = 1024;

constexpr SocketKind kHttpSocket{.name = "server's socket",
                                 .listener = "server",
                                 .place = "path for --listen",
                                 .listener_gone = Errc::kPeerGone,
                                 .type = SOCK_STREAM,
                                 .backlog = kHttpBacklog};

const sockaddr* generic(const auto& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

// Until the socket listens, the lock keeps other servers from replacing it as stale.
absl::StatusOr<HttpListener> listen_at_path(const std::string& path) {
  const absl::StatusOr<ListenLock> lock = ListenLock::take(path, kHttpSocket);
  if (!lock.ok()) return lock.status();
  absl::StatusOr<UniqueFd> fd = listen_local(path, 0600, std::nullopt, kHttpSocket);
  if (!fd.ok()) return fd.status();
  absl::StatusOr<NamedFile> name = NamedFile::at(path);
  if (!name.ok()) return name.status();
  return HttpListener{*std::move(fd), *std::move(name)};
}

}  // namespace

absl::StatusOr<HttpListener> listen_at(const ListenAddress& listen_address) {
  if (listen_address.is_local()) return listen_at_path(listen_address.path);
  sockaddr_storage storage{};
  socklen_t bytes = 0;
  auto* const v4 = reinterpret_cast<sockaddr_in*>(&storage);
  auto* const v6 = reinterpret_cast<sockaddr_in6*>(&storage);
  if (inet_pton(AF_INET, listen_address.address.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(listen_address.port);
    bytes = sizeof *v4;
  } else if (inet_pton(AF_INET6, listen_address.address.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(listen_address.port);
    bytes = sizeof *v6;
  } else {
    return make_error(Errc::kInvalidArgument,
                      absl::StrCat(listen_address.address, " is not an IP address"));
  }
  const std::string what =
      absl::StrCat("listening on ", listen_address.address, " port ", listen_address.port);
  UniqueFd fd = UniqueFd::opened_by(
      [&] { return socket(storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); });
  if (!fd.valid()) return make_system_error(errno, what);
  const int yes = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (bind(fd.get(), generic(storage), bytes) != 0 || listen(fd.get(), kHttpBacklog) != 0) {
    if (errno == EADDRINUSE) {
      return make_error(Errc::kInUse,
                        absl::StrCat(what, ": the port is taken; choose one with --listen"));
    }
    return make_system_error(errno, what);
  }
  return HttpListener{std::move(fd), std::nullopt};
}

std::uint16_t port_of(int fd) {
  sockaddr_storage storage{};
  socklen_t bytes = sizeof storage;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &bytes) != 0) return 0;
  if (storage.ss_family == AF_INET) {
    return ntohs(reinterpret_cast<const sockaddr_in*>(&storage)->sin_port);
  }
  if (storage.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_port);
  }
  return 0;
}

std::string local_address_of(int fd) {
  sockaddr_storage storage{};
  socklen_t bytes = sizeof storage;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &bytes) != 0) return {};
  char text[INET6_ADDRSTRLEN] = "";
  if (storage.ss_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(&storage)->sin_addr, text,
              sizeof text);
  } else if (storage.ss_family == AF_INET6) {
    const in6_addr& address = reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_addr;
    if (IN6_IS_ADDR_V4MAPPED(&address)) {  // an IPv4 client of [::] sends the IPv4 form in Host
      inet_ntop(AF_INET, &address.s6_addr[12], text, sizeof text);
    } else {
      inet_ntop(AF_INET6, &address, text, sizeof text);
    }
  }
  return text;
}

}  // namespace lapwing
