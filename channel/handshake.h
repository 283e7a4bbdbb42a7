// How two processes become the two sides of a channel: who they are, and their memory files.
//
//     connecting side                           listening side
//     ChannelHello, its memory file    ──▶      checks user, frame, file; makes its own file
//     checks frame, file               ◀──      ChannelWelcome, its memory file; or Refused
//
// Thread safety: free functions. Nothing that came from the other side is used unchecked.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "channel/side.h"
#include "lapwing/channel.h"
#include "os/foreign_socket.h"
#include "os/local_socket.h"
#include "proto/control_frames.h"

namespace lapwing {

inline constexpr SocketKind kChannelSocket = {.name = "channel socket",
                                              .listener = "listener",
                                              .place = "path",
                                              .listener_gone = Errc::kPeerGone,
                                              .takes_descriptors = true};

// Of kPeersWaitingMax that wait with a listener, one that has been silent for so long gives way to
// one that comes; and who needs longer before it says hello comes back when it can.
inline constexpr std::uint64_t kSilenceNsMin = kHandshakeNs / 8;
// A listener does not retry for so long after a lack of descriptors or memory.
inline constexpr std::uint64_t kPauseNs = 100'000'000;

// Connects as `role` and waits for the answer until deadline_ns. Looks for the listener first, and
// makes this side's memory only where there is one.
// Errors: kNoBus (nothing at `path`), kPeerGone (no process listens there, or it ended),
// kRefused, kTimedOut, kNotPermitted (another user listens), kProtocol, and those of OwnMemory.
absl::StatusOr<std::unique_ptr<ChannelSide>> connect_channel(const std::string& path,
                                                             ChannelRole role,
                                                             const ChannelOptions& options,
                                                             std::uint64_t deadline_ns);

// Whether a side of this role can be made with these options: kInvalidArgument.
absl::Status check_channel_options(ChannelRole role, const ChannelOptions& options);

// Answers the ChannelHello that waits on `fd`. Errors of the peer's making are kProtocol,
// kAbiMismatch, kRefused and kPeerGone, and it has been told; any other is this side's own.
absl::StatusOr<std::unique_ptr<ChannelSide>> answer_hello(ForeignSocket fd,
                                                          const PeerCredentials& peer,
                                                          const std::string& path, ChannelRole role,
                                                          const ChannelOptions& options);
// Whether answer_hello failed by the peer's fault, so that the next one may be served.
bool is_peers_fault(const absl::Status& status);

// Tells the peer why it is not served; what becomes of the frame is its own concern.
void refuse(int fd, const absl::Status& why);

// Whether `uid` may be at the other end: `expected`, or without it this process's user, or root.
bool is_expected_user(uid_t uid, std::optional<uid_t> expected);
std::string peer_text(std::uint32_t pid, uid_t uid);  // "pid 12 of user 1000"

}  // namespace lapwing
