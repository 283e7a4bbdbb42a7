#include "bus/control_socket.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "bus/kernel.h"
#include "proto/error.h"

namespace lapwing {
namespace {

constexpr std::size_t kSocketPathBytesMax = sizeof(sockaddr_un::sun_path) - 1;

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

absl::Status path_too_long(const std::string& path) {
  return make_error(Errc::kPathTooLong,
                    absl::StrCat("the control socket's path ", path, " has ", path.size(),
                                 " bytes; a socket's path has at most ", kSocketPathBytesMax,
                                 " and this one cannot be shortened through /proc/self/fd; use a "
                                 "shorter bus directory"));
}

// Where a socket is or will be. path() names it for the other system calls, too.
class SocketAddress {
 public:
  static absl::StatusOr<SocketAddress> of(const std::string& path) {
    SocketAddress result;
    std::string name = path;
    if (name.size() > kSocketPathBytesMax) {
      const std::string directory = directory_of(path);
      result.directory_.reset(open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
      if (!result.directory_.valid()) {
        if (errno == ENAMETOOLONG) return path_too_long(path);
        return make_system_error(errno, absl::StrCat("opening the bus directory ", directory));
      }
      const std::string link = absl::StrCat("/proc/self/fd/", result.directory_.get());
      name = absl::StrCat(link, path.substr(path.rfind('/')));
      if (name.size() > kSocketPathBytesMax || access(link.c_str(), F_OK) != 0) {
        return path_too_long(path);
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
  UniqueFd directory_;  // held while address_ goes through it
  sockaddr_un address_{};
};

absl::StatusOr<UniqueFd> make_socket() {
  UniqueFd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return make_system_error(errno, "making a control socket");
  return fd;
}

absl::Status not_a_socket(const std::string& path) {
  return make_error(Errc::kNotALapwingFile,
                    absl::StrCat(path,
                                 " is not a Lapwing control socket and was left alone; move it "
                                 "away or choose another bus directory"));
}

// Makes room for a new socket: nothing is there, or a stale socket of our own, which is removed.
absl::Status clear_stale_socket(const SocketAddress& address, const std::string& path) {
  struct stat found{};
  if (lstat(address.path(), &found) != 0) {
    if (errno == ENOENT) return absl::OkStatus();
    return make_system_error(errno, absl::StrCat("looking at ", path));
  }
  if (!S_ISSOCK(found.st_mode)) return not_a_socket(path);
  absl::StatusOr<UniqueFd> probe = make_socket();
  if (!probe.ok()) return probe.status();
  // EAGAIN is a listener whose backlog is full.
  if (connect(probe->get(), address.get(), address.size()) == 0 || errno == EAGAIN) {
    return make_error(Errc::kBusTaken,
                      absl::StrCat("a process is listening on ", path,
                                   "; stop that publisher or choose another bus directory"));
  }
  if (errno == EPROTOTYPE) return not_a_socket(path);
  if (errno != ECONNREFUSED) return make_system_error(errno, absl::StrCat("connecting to ", path));
  if (found.st_uid != geteuid()) {
    return make_error(Errc::kNotPermitted,
                      absl::StrCat(path, " is a stale socket of user ", found.st_uid,
                                   "; let that user remove it or choose another bus directory"));
  }
  if (unlink(address.path()) != 0 && errno != ENOENT) {
    return make_system_error(errno, absl::StrCat("removing the stale socket ", path));
  }
  return absl::OkStatus();
}

// Gives the bound socket its group and mode, in this order: until the group is right, only the
// owner has access. Then listens; before that nobody can connect.
absl::Status open_to_clients(int fd, const SocketAddress& address, const std::string& path,
                             mode_t mode, std::optional<unsigned> group) {
  if (group && lchown(address.path(), static_cast<uid_t>(-1), *group) != 0) {
    return make_system_error(errno, absl::StrCat("giving ", path, " to group ", *group));
  }
  if (chmod(address.path(), mode) != 0) {
    return make_system_error(errno, absl::StrCat("setting the mode of ", path));
  }
  if (listen(fd, kListenBacklog) != 0) {
    return make_system_error(errno, absl::StrCat("listening on ", path));
  }
  return absl::OkStatus();
}

// A blocking connect that gives up at the deadline: the kernel waits for room in the backlog.
// Returns 0 or an errno; EAGAIN means that the deadline has passed.
int connect_until(int fd, const SocketAddress& address, std::uint64_t deadline_ns) {
  for (;;) {
    const std::uint64_t now = monotonic_ns();
    // A timeout of 0 would mean none.
    const std::uint64_t left_us = deadline_ns > now ? (deadline_ns - now) / 1000 + 1 : 1;
    timeval timeout{};
    timeout.tv_sec = static_cast<time_t>(left_us / 1'000'000);
    timeout.tv_usec = static_cast<suseconds_t>(left_us % 1'000'000);
    if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout) != 0) return errno;
    if (connect(fd, address.get(), address.size()) == 0) return 0;
    if (errno != EINTR) return errno;
  }
}

absl::Status connect_error(int error, const std::string& path) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return make_error(Errc::kNoBus,
                        absl::StrCat("no publisher runs at ", directory_of(path),
                                     ": there is no control socket; start one there"));
    case ECONNREFUSED:
      return make_error(
          Errc::kPublisherGone,
          absl::StrCat("nobody listens on ", path, ": the publisher has ended; start it again"));
    case EPROTOTYPE:
      return not_a_socket(path);
    case EAGAIN:
      return make_error(Errc::kTimedOut,
                        absl::StrCat("the publisher at ", path,
                                     " did not accept the connection in time; is it stopped?"));
    case EACCES:
    case EPERM:
      return make_error(Errc::kNotPermitted,
                        absl::StrCat("connecting to ", path,
                                     " is not permitted: ask its owner for the bus's group"));
    default:
      return make_system_error(error, absl::StrCat("connecting to ", path));
  }
}

// A socket that another user placed where the owner's should be gets no Hello.
absl::Status check_listener(int fd, const std::string& path) {
  absl::StatusOr<PeerCredentials> listener = peer_credentials(fd);
  if (!listener.ok()) return listener.status();
  const std::string directory = directory_of(path);
  struct stat owner{};
  if (stat(directory.c_str(), &owner) != 0) {
    return make_system_error(errno, absl::StrCat("looking at the bus directory ", directory));
  }
  if (listener->uid == owner.st_uid || listener->uid == 0) return absl::OkStatus();
  return make_error(Errc::kNotPermitted,
                    absl::StrCat("user ", listener->uid, " listens on ", path, ", but ", directory,
                                 " belongs to user ", owner.st_uid,
                                 "; connect only to a bus whose directory its publisher owns"));
}

bool hung_up(int fd) {
  pollfd entry{fd, POLLRDHUP, 0};
  return poll(&entry, 1, 0) > 0 && (entry.revents & (POLLRDHUP | POLLHUP)) != 0;
}

// What recv() returns. An empty packet and the end of the connection both give 0, but with
// SO_PASSCRED every packet has its sender's credentials with it, which are cut off here, and the
// end has none. A socket without it (a client's) shows an empty packet only while the peer has not
// hung up.
struct Received {
  ssize_t size;
  bool is_end;
};

Received receive_packet(int fd, std::span<std::byte> bytes) {
  iovec part{bytes.data(), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  // MSG_TRUNC: the packet's true size, also when it is larger than any frame.
  const ssize_t size = recvmsg(fd, &message, MSG_DONTWAIT | MSG_TRUNC);
  const bool has_credentials = (message.msg_flags & MSG_CTRUNC) != 0;
  return {size, size == 0 && !has_credentials && hung_up(fd)};
}

}  // namespace

absl::StatusOr<FrameType> check_frame(const Packet& packet) {
  if (packet.size < sizeof(FrameHeader)) {
    return make_error(Errc::kProtocol,
                      absl::StrCat("a packet of ", packet.size, " bytes is shorter than a frame's ",
                                   sizeof(FrameHeader), "-byte header"));
  }
  const FrameHeader header = packet.as<FrameHeader>();
  if (header.magic != kFrameMagic || header.version != kFrameVersion) {
    return make_error(
        Errc::kProtocol,
        absl::StrCat("a packet does not start like a frame of version ", kFrameVersion, ": magic ",
                     absl::Hex(header.magic), ", version ", header.version));
  }
  const std::size_t expected = frame_bytes(header.type);
  if (expected == 0 || expected != packet.size || header.length != packet.size) {
    return make_error(
        Errc::kProtocol,
        absl::StrCat("a frame of type ", static_cast<int>(header.type), " came with ", packet.size,
                     " bytes and says ", header.length, "; it has ", expected));
  }
  return header.type;
}

std::string printable(std::string text) {
  for (char& c : text) {
    if (c < ' ' || c > '~') c = '?';
  }
  return text;
}

absl::StatusOr<UniqueFd> listen_control(const std::string& path, mode_t mode,
                                        std::optional<unsigned> group) {
  absl::StatusOr<SocketAddress> address = SocketAddress::of(path);
  if (!address.ok()) return address.status();
  if (absl::Status status = clear_stale_socket(*address, path); !status.ok()) return status;
  absl::StatusOr<UniqueFd> fd = make_socket();
  if (!fd.ok()) return fd;
  // Whoever is accepted inherits it: see receive_packet.
  constexpr int kOn = 1;
  if (setsockopt(fd->get(), SOL_SOCKET, SO_PASSCRED, &kOn, sizeof kOn) != 0) {
    return make_system_error(errno, "asking for the credentials of a control socket's packets");
  }
  // The mode of an unbound socket is the mode that bind gives its name, less the umask: unlike a
  // changed umask this concerns no other thread.
  if (fchmod(fd->get(), S_IRUSR | S_IWUSR) != 0) {
    return make_system_error(errno, "setting a control socket's mode");
  }
  if (bind(fd->get(), address->get(), address->size()) != 0) {
    if (errno == EADDRINUSE) {
      return make_error(Errc::kBusTaken, absl::StrCat("another process has just made ", path));
    }
    return make_system_error(errno, absl::StrCat("making the control socket ", path));
  }
  if (absl::Status status = open_to_clients(fd->get(), *address, path, mode, group); !status.ok()) {
    unlink(address->path());
    return status;
  }
  return fd;
}

absl::StatusOr<UniqueFd> connect_control(const std::string& path, std::uint64_t deadline_ns) {
  absl::StatusOr<SocketAddress> address = SocketAddress::of(path);
  if (!address.ok()) {
    if (errc_of(address.status()) == Errc::kNotFound) return connect_error(ENOENT, path);
    return address.status();
  }
  struct stat found{};
  if (lstat(address->path(), &found) != 0) return connect_error(errno, path);
  if (!S_ISSOCK(found.st_mode)) return not_a_socket(path);
  UniqueFd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return make_system_error(errno, "making a control socket");
  if (const int error = connect_until(fd.get(), *address, deadline_ns); error != 0) {
    return connect_error(error, path);
  }
  if (fcntl(fd.get(), F_SETFL, O_NONBLOCK) != 0) {
    return make_system_error(errno, "making a control socket non-blocking");
  }
  if (absl::Status status = check_listener(fd.get(), path); !status.ok()) return status;
  return fd;
}

absl::StatusOr<PeerCredentials> peer_credentials(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return make_system_error(errno, "asking who is at the other end of a control socket");
  }
  return PeerCredentials{peer.pid, peer.uid, peer.gid};
}

bool peer_in_group(int fd, const PeerCredentials& peer, gid_t group) {
  if (peer.gid == group) return true;
  std::vector<gid_t> groups(32);
  socklen_t size = static_cast<socklen_t>(groups.size() * sizeof(gid_t));
  int result = getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size);
  if (result != 0 && errno == ERANGE) {  // size now says how much it takes
    groups.resize(size / sizeof(gid_t));
    result = getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size);
  }
  if (result != 0) return false;
  groups.resize(size / sizeof(gid_t));
  for (const gid_t member : groups) {
    if (member == group) return true;
  }
  return false;
}

SendOutcome send_frame(int fd, std::span<const std::byte> frame) {
  for (;;) {
    if (send(fd, frame.data(), frame.size(), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) {
      return SendOutcome::kSent;  // a packet goes whole or not at all
    }
    if (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM) return SendOutcome::kWouldBlock;
    if (errno != EINTR) return SendOutcome::kClosed;
  }
}

ReceiveOutcome receive_frame(int fd, Packet& packet) {
  bool reset_seen = false;
  for (;;) {
    const auto [got, is_end] = receive_packet(fd, packet.bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return ReceiveOutcome::kWouldBlock;
    // A peer that closed before it had read all we sent resets the connection. The kernel says so
    // once, before it hands out what the peer had still sent, such as why it refused us.
    if (got < 0 && errno == ECONNRESET && !std::exchange(reset_seen, true)) continue;
    if (got < 0) return ReceiveOutcome::kClosed;
    if (is_end) return ReceiveOutcome::kClosed;
    packet.size = static_cast<std::size_t>(got);
    if (packet.size > sizeof packet.bytes || !check_frame(packet).ok()) {
      return ReceiveOutcome::kViolation;
    }
    return ReceiveOutcome::kFrame;
  }
}

}  // namespace lapwing
