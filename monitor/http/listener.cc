#include "monitor/http/listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/system_error.h"

namespace lapwing {
namespace {

constexpr int kHttpBacklog = 1024;

UniqueFd stream_socket(int family) {
  return UniqueFd::opened_by(
      [&] { return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); });
}

const sockaddr* generic(const auto& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

// Removes what is left of a server that was killed.
absl::Status remove_stale(const std::string& path, const sockaddr_un& address) {
  struct stat status{};
  if (lstat(path.c_str(), &status) != 0) return absl::OkStatus();
  if (!S_ISSOCK(status.st_mode)) {
    return make_error(Errc::kNotALapwingFile, absl::StrCat(path, " is there and is no socket"));
  }
  const UniqueFd probe = stream_socket(AF_UNIX);
  if (connect(probe.get(), generic(address), sizeof address) == 0 || errno == EAGAIN) {
    return make_error(Errc::kBusTaken, absl::StrCat("another process listens on ", path));
  }
  if (errno != ECONNREFUSED || unlink(path.c_str()) != 0) {
    return make_system_error(errno, absl::StrCat("replacing the socket ", path));
  }
  return absl::OkStatus();
}

absl::StatusOr<UniqueFd> listen_at_path(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return make_error(Errc::kPathTooLong, absl::StrCat("the path of a socket is shorter than ",
                                                       sizeof address.sun_path, " bytes: ", path));
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  if (const absl::Status removed = remove_stale(path, address); !removed.ok()) return removed;
  UniqueFd fd = stream_socket(AF_UNIX);
  const std::string what = absl::StrCat("listening on ", path);
  if (!fd.valid()) return make_system_error(errno, what);
  // The name that bind makes has the mode of the socket's own inode, less the umask.
  if (fchmod(fd.get(), 0600) != 0) return make_system_error(errno, what);
  if (bind(fd.get(), generic(address), sizeof address) != 0) return make_system_error(errno, what);
  if (listen(fd.get(), kHttpBacklog) != 0) return make_system_error(errno, what);
  return fd;
}

}  // namespace

absl::StatusOr<UniqueFd> listen_at(const ListenAddress& listen_address) {
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
                      absl::StrCat(listen_address.address, " is no IP address"));
  }
  const std::string what =
      absl::StrCat("listening on ", listen_address.address, " port ", listen_address.port);
  UniqueFd fd = stream_socket(storage.ss_family);
  if (!fd.valid()) return make_system_error(errno, what);
  const int yes = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (bind(fd.get(), generic(storage), bytes) != 0 || listen(fd.get(), kHttpBacklog) != 0) {
    if (errno == EADDRINUSE) {
      return make_error(Errc::kBusTaken,
                        absl::StrCat(what, ": the port is taken; choose one with --listen"));
    }
    return make_system_error(errno, what);
  }
  return fd;
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
    inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_addr, text,
              sizeof text);
  }
  return text;
}

}  // namespace lapwing
