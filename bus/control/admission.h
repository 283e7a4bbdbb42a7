// Which peers and subscribers a control server serves, and how many.
//
// Thread safety: that of the table.
#pragma once

#include <optional>
#include <string>

#include "bus/control/connection_table.h"
#include "lapwing/error.h"
#include "os/local_socket.h"
#include "proto/control_frames.h"

namespace lapwing {

struct Refusal {
  DropReason reason;
  Errc error;
  std::string why;
};

// Returns whether the kernel reports the peer as the bus's owner or root.
bool is_bus_owner(const PeerCredentials& peer);

// Returns why the peer at the other end of `fd` may not connect; nullopt if it may. `group` is the
// gid whose members may connect.
std::optional<Refusal> refusal_of_peer(int fd, const PeerCredentials& peer,
                                       std::optional<unsigned> group,
                                       const ConnectionTable& connections);

// Returns why the newest subscriber, already counted in the table, is not served, or nullopt.
std::optional<Refusal> refusal_of_subscriber(const ConnectionTable& connections);

}  // namespace lapwing
