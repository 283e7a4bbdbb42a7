// Listens on a bus's control socket, and connects to it.
//
// Free functions; the caller owns the descriptors.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "os/frame_socket.h"
#include "os/local_socket.h"
#include "os/unique_fd.h"

namespace lapwing {

inline constexpr char kControlSocketName[] = "control.sock";

// listen_local for a bus. The caller must hold the publisher's lock.
absl::StatusOr<UniqueFd> listen_control(const std::string& path, mode_t mode,
                                        std::optional<unsigned> group);

// check_unserved for a bus.
absl::Status check_no_control(const std::string& path);

// connect_local for a bus. Returns kPublisherGone if no process listens, and also kNotPermitted if
// the listener runs neither as the owner of the socket's directory nor as root.
absl::StatusOr<UniqueFd> connect_control(const std::string& path, std::uint64_t deadline_ns);

}  // namespace lapwing
