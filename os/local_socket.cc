#include "os/local_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "os/foreign_socket.h"
#include "os/kernel.h"
#include "os/path.h"
#include "os/system_error.h"

namespace lapwing {
namespace {

constexpr std::size_t kSocketPathBytesMax = sizeof(sockaddr_un::sun_path) - 1;

absl::Status path_too_long(const std::string& path, const SocketKind& kind) {
  return make_error(Errc::kPathTooLong,
                    absl::StrCat("the ", kind.name, "'s path ", path, " has ", path.size(),
                                 " bytes; a socket's path has at most ", kSocketPathBytesMax,
                                 " and this one cannot be shortened through /proc/self/fd; use a "
                                 "shorter ",
                                 kind.place));
}

// The address of an existing or new socket. Other system calls use path() as well.
class SocketAddress {
 public:
  static absl::StatusOr<SocketAddress> of(const std::string& path, const SocketKind& kind) {
    SocketAddress result;
    std::string name = path;
    if (name.size() > kSocketPathBytesMax) {
      const std::string directory = directory_of(path);
      result.directory_ = UniqueFd::opened_by(
          [&] { return open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC); });
      if (!result.directory_.valid()) {
        if (errno == ENAMETOOLONG) return path_too_long(path, kind);
        return make_system_error(
            errno, absl::StrCat("opening the directory ", directory, " of the ", kind.name));
      }
      const std::string link = absl::StrCat("/proc/self/fd/", result.directory_.get());
      name = absl::StrCat(link, "/", name_in_directory(path));
      if (name.size() > kSocketPathBytesMax || access(link.c_str(), F_OK) != 0) {
        return path_too_long(path, kind);
      }
    }
    result.address_.sun_family = AF_UNIX;
    std::memcpy(result.address_.sun_path, name.c_str(), name.size() + 1);
    return result;
  }

  const char* path() const { return address_.sun_path; }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address_); }
  static constexpr socklen_t size() { return sizeof(sockaddr_un); }

 private:
  SocketAddress() = default;
  UniqueFd directory_;  // held while address_ refers to it
  sockaddr_un address_{};
};

// `flags` is SOCK_NONBLOCK or 0.
absl::StatusOr<UniqueFd> make_socket(int flags, const SocketKind& kind) {
  UniqueFd fd =
      UniqueFd::opened_by([&] { return socket(AF_UNIX, kind.type | SOCK_CLOEXEC | flags, 0); });
  if (!fd.valid()) return make_system_error(errno, absl::StrCat("making a ", kind.name));
  // Connections inherit this from the listener. On older kernels, receive_frame checks each packet.
  if (!kind.takes_descriptors) refuse_descriptors(fd.get());
  return fd;
}

absl::Status not_a_socket(const std::string& path, const SocketKind& kind) {
  return make_error(
      Errc::kNotALapwingFile,
      absl::StrCat(path, " is not a Lapwing ", kind.name,
                   " and was not changed; move it away or choose another ", kind.place));
}

// Tries to connect to the socket at `address`. Returns 0 if a process listens there, or an errno.
absl::StatusOr<int> probe(const SocketAddress& address, const SocketKind& kind) {
  const absl::StatusOr<UniqueFd> socket = make_socket(SOCK_NONBLOCK, kind);
  if (!socket.ok()) return socket.status();
  if (connect(socket->get(), address.get(), address.size()) == 0) return 0;
  return errno == EAGAIN ? 0 : errno;  // EAGAIN: a listener whose backlog is full
}

absl::Status is_served(const std::string& path, const SocketKind& kind) {
  return make_error(Errc::kInUse, absl::StrCat("a process is listening on ", path, "; stop that ",
                                               kind.listener, " or choose another ", kind.place));
}

// Prepares the path for a new socket. Succeeds if nothing is there, or if a stale socket of this
// user is there, which it removes.
absl::Status clear_stale_socket(const SocketAddress& address, const std::string& path,
                                const SocketKind& kind) {
  struct stat found{};
  if (lstat(address.path(), &found) != 0) {
    if (errno == ENOENT) return absl::OkStatus();
    return make_system_error(errno, absl::StrCat("checking ", path));
  }
  if (!S_ISSOCK(found.st_mode)) return not_a_socket(path, kind);
  const absl::StatusOr<int> answer = probe(address, kind);
  if (!answer.ok()) return answer.status();
  if (*answer == 0) return is_served(path, kind);
  if (*answer == EPROTOTYPE) return not_a_socket(path, kind);
  if (*answer != ECONNREFUSED) {
    return make_system_error(*answer, absl::StrCat("connecting to ", path));
  }
  if (found.st_uid != geteuid()) {
    return make_error(Errc::kNotPermitted,
                      absl::StrCat(path, " is a stale socket of user ", found.st_uid,
                                   "; let that user remove it or choose another ", kind.place));
  }
  if (unlink(address.path()) != 0 && errno != ENOENT) {
    return make_system_error(errno, absl::StrCat("removing the stale socket ", path));
  }
  return absl::OkStatus();
}

// Makes a socket with all settings that it must have before a client can connect.
absl::StatusOr<UniqueFd> make_listening_socket(const SocketKind& kind) {
  absl::StatusOr<UniqueFd> fd = make_socket(SOCK_NONBLOCK, kind);
  if (!fd.ok()) return fd;
  // A connection inherits this from the listener, when it connects or when it is accepted,
  // depending on the kernel's version.
  const int on = kind.passes_credentials ? 1 : 0;
  if (setsockopt(fd->get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0) {
    return make_system_error(errno,
                             absl::StrCat("enabling credentials for a ", kind.name, "'s packets"));
  }
  // bind creates the socket file with the mode of the unbound socket, less the umask. Unlike a
  // changed umask, this does not affect other threads.
  if (fchmod(fd->get(), S_IRUSR | S_IWUSR) != 0) {
    return make_system_error(errno, absl::StrCat("setting a ", kind.name, "'s mode"));
  }
  return fd;
}

// Sets the group and then the mode of the bound socket, so that only the owner has access until the
// group is right. Then listens. Earlier connects fail, because no process listens yet.
absl::Status open_to_clients(int fd, const SocketAddress& address, const std::string& path,
                             mode_t mode, std::optional<unsigned> group, int backlog) {
  if (group && lchown(address.path(), static_cast<uid_t>(-1), *group) != 0) {
    return make_system_error(errno, absl::StrCat("giving ", path, " to group ", *group));
  }
  if (chmod(address.path(), mode) != 0) {
    return make_system_error(errno, absl::StrCat("setting the mode of ", path));
  }
  if (listen(fd, backlog) != 0) {
    return make_system_error(errno, absl::StrCat("listening on ", path));
  }
  return absl::OkStatus();
}

// Connects, and waits until the deadline for room in the backlog. Returns 0 or an errno. EAGAIN
// means that the deadline has passed.
int connect_until(int fd, const SocketAddress& address, std::uint64_t deadline_ns) {
  for (;;) {
    const std::uint64_t now = monotonic_ns();
    // A timeout of 0 would mean no timeout.
    const std::uint64_t left_us = deadline_ns > now ? (deadline_ns - now) / 1000 + 1 : 1;
    timeval timeout{};
    timeout.tv_sec = static_cast<time_t>(left_us / 1'000'000);
    timeout.tv_usec = static_cast<suseconds_t>(left_us % 1'000'000);
    if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout) != 0) return errno;
    if (connect(fd, address.get(), address.size()) == 0) return 0;
    if (errno != EINTR) return errno;
  }
}

absl::Status connect_error(int error, const std::string& path, const SocketKind& kind) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return make_error(Errc::kNoBus,
                        absl::StrCat("no ", kind.listener, " runs at ", path, ": there is no ",
                                     kind.name, "; start one there"));
    case ECONNREFUSED:
      return make_error(kind.listener_gone,
                        absl::StrCat("no process listens on ", path, ": the ", kind.listener,
                                     " has ended (start it again) or is about to listen (try "
                                     "again)"));
    case EPROTOTYPE:
      return not_a_socket(path, kind);
    case EAGAIN:
      return make_error(Errc::kTimedOut,
                        absl::StrCat("the ", kind.listener, " at ", path,
                                     " did not accept the connection in time; is it stopped?"));
    case EACCES:
    case EPERM:
      return make_error(Errc::kNotPermitted, absl::StrCat("connecting to ", path,
                                                          " is not permitted: ask its owner "
                                                          "for the ",
                                                          kind.listener, "'s group"));
    default:
      return make_system_error(error, absl::StrCat("connecting to ", path));
  }
}

}  // namespace

absl::StatusOr<UniqueFd> listen_local(const std::string& path, mode_t mode,
                                      std::optional<unsigned> group, const SocketKind& kind) {
  const absl::StatusOr<SocketAddress> address = SocketAddress::of(path, kind);
  if (!address.ok()) return address.status();
  if (absl::Status status = clear_stale_socket(*address, path, kind); !status.ok()) return status;
  absl::StatusOr<UniqueFd> fd = make_listening_socket(kind);
  if (!fd.ok()) return fd;
  if (bind(fd->get(), address->get(), address->size()) != 0) {
    if (errno == EADDRINUSE) {
      return make_error(Errc::kInUse, absl::StrCat("another process has just made ", path));
    }
    return make_system_error(errno, absl::StrCat("making the ", kind.name, " ", path));
  }
  if (absl::Status status = open_to_clients(fd->get(), *address, path, mode, group, kind.backlog);
      !status.ok()) {
    unlink(address->path());
    return status;
  }
  return fd;
}

absl::Status check_unserved(const std::string& path, const SocketKind& kind) {
  const absl::StatusOr<SocketAddress> address = SocketAddress::of(path, kind);
  if (!address.ok()) return absl::OkStatus();  // listen_local reports this error
  struct stat found{};
  if (lstat(address->path(), &found) != 0 || !S_ISSOCK(found.st_mode)) return absl::OkStatus();
  const absl::StatusOr<int> answer = probe(*address, kind);
  if (!answer.ok()) return answer.status();
  return *answer == 0 ? is_served(path, kind) : absl::OkStatus();
}

absl::StatusOr<UniqueFd> connect_local(const std::string& path, std::uint64_t deadline_ns,
                                       const SocketKind& kind) {
  const absl::StatusOr<SocketAddress> address = SocketAddress::of(path, kind);
  if (!address.ok()) {
    if (errc_of(address.status()) == Errc::kNotFound) return connect_error(ENOENT, path, kind);
    return address.status();
  }
  struct stat found{};
  if (lstat(address->path(), &found) != 0) return connect_error(errno, path, kind);
  if (!S_ISSOCK(found.st_mode)) return not_a_socket(path, kind);
  absl::StatusOr<UniqueFd> fd = make_socket(0, kind);
  if (!fd.ok()) return fd;
  if (const int error = connect_until(fd->get(), *address, deadline_ns); error != 0) {
    return connect_error(error, path, kind);
  }
  if (fcntl(fd->get(), F_SETFL, O_NONBLOCK) != 0) {
    return make_system_error(errno, absl::StrCat("making a ", kind.name, " non-blocking"));
  }
  return fd;
}

absl::StatusOr<PeerCredentials> peer_credentials(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return make_system_error(errno, "reading the peer credentials of a socket");
  }
  return PeerCredentials{peer.pid, peer.uid, peer.gid};
}

bool peer_in_group(int fd, const PeerCredentials& peer, gid_t group) {
  if (peer.gid == group) return true;
  std::vector<gid_t> groups(32);
  socklen_t size = static_cast<socklen_t>(groups.size() * sizeof(gid_t));
  int result = getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size);
  if (result != 0 && errno == ERANGE) {  // `size` is now the required size
    groups.resize(size / sizeof(gid_t));
    result = getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size);
  }
  if (result != 0) return false;
  groups.resize(size / sizeof(gid_t));
  return std::ranges::find(groups, group) != groups.end();
}

}  // namespace lapwing
