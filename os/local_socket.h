// An AF_UNIX socket at a path: listening, connecting, and the identity of the peer.
//
// If the path is too long for a socket address, the socket is reached through a descriptor of its
// directory (/proc/self/fd/N/NAME).
//
// Thread safety: free functions; the caller owns the descriptors. Every returned descriptor is
// close-on-exec and non-blocking.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "lapwing/error.h"
#include "os/unique_fd.h"

namespace lapwing {

inline constexpr int kListenBacklog = 128;  // connections waiting to be accepted

// The purpose of a socket: text for its messages, and the settings that differ between kinds.
struct SocketKind {
  const char* name;      // "control socket"
  const char* listener;  // the listening program: "publisher"
  const char* place;     // in "choose another …": "bus directory"
  Errc listener_gone;    // the error for a socket on which no process listens
  // Packets of accepted connections include their sender's credentials (SO_PASSCRED).
  bool passes_credentials = false;
  // If false, the kernel rejects packets with descriptors (from Linux 6.16 on).
  bool takes_descriptors = false;
  int type = SOCK_SEQPACKET;
  int backlog = kListenBacklog;
};

struct PeerCredentials {
  pid_t pid;
  uid_t uid;
  gid_t gid;
};

// Listens on `path`. The socket never has more permissions than `mode`. Removes only a stale socket
// of this user. The caller must hold a lock, the publisher's or a ListenLock. Otherwise, if two
// processes find a stale socket at the same time, one might remove the other's new socket.
// Errors: kInUse (a live socket is there), kNotALapwingFile (a file, link or directory is there),
// kNotPermitted (another user's socket is there, or this process may not create the socket or set
// its group). After these, the path is unchanged. Also kNotFound (no such directory), kPathTooLong,
// kSystem.
absl::StatusOr<UniqueFd> listen_local(const std::string& path, mode_t mode,
                                      std::optional<unsigned> group, const SocketKind& kind);

// Returns kInUse if a process listens on `path`, and ok in all other cases. Changes nothing.
absl::Status check_unserved(const std::string& path, const SocketKind& kind);

// Connects, waiting until deadline_ns (CLOCK_MONOTONIC) while the listener's backlog is full. The
// caller must check the identity of the listener (peer_credentials).
// Errors: kNoBus (nothing there), kind.listener_gone, kNotPermitted, kNotALapwingFile, kTimedOut,
// kPathTooLong, kSystem.
absl::StatusOr<UniqueFd> connect_local(const std::string& path, std::uint64_t deadline_ns,
                                       const SocketKind& kind);

// Returns the identity of the peer when it connected or listened, according to the kernel.
absl::StatusOr<PeerCredentials> peer_credentials(int fd);
// Returns whether `group` is the peer's group or one of its supplementary groups.
bool peer_in_group(int fd, const PeerCredentials& peer, gid_t group);

}  // namespace lapwing
