// The server's listening socket.
//
// Thread safety: free functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "monitor/http/listen_address.h"
#include "os/named_file.h"
#include "os/unique_fd.h"

namespace lapwing {

struct HttpListener {
  UniqueFd fd;
  std::optional<NamedFile> name;  // a socket in the file system; the owner removes it
};

// A socket in the file system has mode 0600 from the start. If this user's socket is there and no
// process listens on it, it is replaced. Errors: kInUse (a process listens there), kNotALapwingFile
// (something else is there), kPathTooLong, kNotPermitted, kNotFound, kSystem.
absl::StatusOr<HttpListener> listen_at(const ListenAddress& address);

// 0 for a socket in the file system.
std::uint16_t port_of(int fd);
// The IP address at which a connection arrived; empty for a socket in the file system.
std::string local_address_of(int fd);

}  // namespace lapwing
