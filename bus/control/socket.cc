#include "bus/control/socket.h"

#include <sys/stat.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/path.h"
#include "os/system_error.h"

namespace lapwing {
namespace {

// With credentials, an empty packet differs from the end of the stream: see receive_frame.
constexpr SocketKind kControlSocket{.name = "control socket",
                                    .listener = "publisher",
                                    .place = "bus directory",
                                    .listener_gone = Errc::kPublisherGone,
                                    .passes_credentials = true};

// Checks the owner, so that no Hello is sent to a socket that another user made at this path.
absl::Status check_listener(int fd, const std::string& path) {
  absl::StatusOr<PeerCredentials> listener = peer_credentials(fd);
  if (!listener.ok()) return listener.status();
  const std::string directory = directory_of(path);
  struct stat owner{};
  if (stat(directory.c_str(), &owner) != 0) {
    return make_system_error(errno, absl::StrCat("checking the bus directory ", directory));
  }
  if (listener->uid == owner.st_uid || listener->uid == 0) return absl::OkStatus();
  return make_error(Errc::kNotPermitted,
                    absl::StrCat("user ", listener->uid, " listens on ", path, ", but ", directory,
                                 " belongs to user ", owner.st_uid,
                                 "; connect only to a bus whose directory its publisher owns"));
}

}  // namespace

absl::StatusOr<UniqueFd> listen_control(const std::string& path, mode_t mode,
                                        std::optional<unsigned> group) {
  return listen_local(path, mode, group, kControlSocket);
}

absl::Status check_no_control(const std::string& path) {
  return check_unserved(path, kControlSocket);
}

absl::StatusOr<UniqueFd> connect_control(const std::string& path, std::uint64_t deadline_ns) {
  absl::StatusOr<UniqueFd> fd = connect_local(path, deadline_ns, kControlSocket);
  if (!fd.ok()) return fd;
  if (absl::Status status = check_listener(fd->get(), path); !status.ok()) return status;
  return fd;
}

}  // namespace lapwing
