// An AF_UNIX socket at a path: listening, connecting, and who is at the other end.
//
// A directory may be longer than a socket's path can be: such a socket is reached through a
// descriptor of its directory (/proc/self/fd/N/NAME).
//
// Thread safety: free functions over descriptors the caller owns. Every descriptor they return is
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

inline constexpr int kListenBacklog = 128;  // connections that wait to be accepted

// What a socket is for: the words of its messages, and what differs between one kind and another.
struct SocketKind {
  const char* name;      // "control socket"
  const char* listener;  // who listens: "publisher"
  const char* place;     // what to choose another one of: "bus directory"
  Errc listener_gone;    // the error of a socket on which nobody listens any more
  // Whoever is accepted gets its packets with their sender's credentials (SO_PASSCRED).
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

// Listens on `path`, which is at no moment reachable with more than `mode` allows. Removes only a
// stale socket of our own. The caller holds a lock, the publisher's or a ListenLock: of two who
// find a stale socket at once, one might remove the other's new one.
// Errors: kInUse (a live socket is there), kNotALapwingFile (a file, link or directory is
// there), kNotPermitted (another user's socket is there, or we may not create ours or give it to
// the group); what is there stays untouched. kNotFound (no such directory), kPathTooLong, kSystem.
absl::StatusOr<UniqueFd> listen_local(const std::string& path, mode_t mode,
                                      std::optional<unsigned> group, const SocketKind& kind);

// kInUse if a process listens on `path`; ok if nobody does, whatever is there. Changes nothing.
absl::Status check_unserved(const std::string& path, const SocketKind& kind);

// Connects, waiting until deadline_ns (CLOCK_MONOTONIC) while the listener's backlog is full.
// Whether the listener is the right one is for the caller to ask (peer_credentials).
// Errors: kNoBus (nothing there), kind.listener_gone, kNotPermitted, kNotALapwingFile, kTimedOut,
// kPathTooLong, kSystem.
absl::StatusOr<UniqueFd> connect_local(const std::string& path, std::uint64_t deadline_ns,
                                       const SocketKind& kind);

// Who the other end was when it connected or listened; the kernel says so, not the peer.
absl::StatusOr<PeerCredentials> peer_credentials(int fd);
// Whether `group` is the peer's group or one of its supplementary groups.
bool peer_in_group(int fd, const PeerCredentials& peer, gid_t group);

}  // namespace lapwing
