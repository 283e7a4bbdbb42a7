// Makes two processes the two sides of a channel: exchanges their identities and memory files.
//
//     connecting side                           listening side
//     ChannelHello, its memory file    ──▶      checks user, frame, file; makes its own file
//     checks frame, file               ◀──      ChannelWelcome, its memory file; or Refused
//
// Thread safety: free functions. All data from the other side is checked before use.
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

// If kPeersWaitingMax peers are waiting at a listener, a peer that has been silent for this long
// is dropped to make room for a new one. A peer that needs more time before its hello reconnects
// when it is ready.
inline constexpr std::uint64_t kSilenceNsMin = kHandshakeNs / 8;
// How long a listener pauses after it runs out of descriptors or memory.
inline constexpr std::uint64_t kPauseNs = 100'000'000;

// Connects as `role` and waits for the answer until deadline_ns. Connects to the listener first, so
// that this side's memory is created only if there is one. Errors: kNoBus (nothing at `path`),
// kPeerGone (no process listens there, or it ended), kRefused, kTimedOut, kNotPermitted (another
// user listens), kProtocol, and those of OwnMemory.
absl::StatusOr<std::unique_ptr<ChannelSide>> connect_channel(const std::string& path,
                                                             ChannelRole role,
                                                             const ChannelOptions& options,
                                                             std::uint64_t deadline_ns);

// Returns kInvalidArgument if a side of this role cannot be created with these options.
absl::Status check_channel_options(ChannelRole role, const ChannelOptions& options);

// Answers the ChannelHello that is waiting on `fd`. Errors caused by the peer are kProtocol,
// kAbiMismatch, kRefused and kPeerGone, and the peer is notified. Any other error is this side's
// own.
absl::StatusOr<std::unique_ptr<ChannelSide>> answer_hello(ForeignSocket fd,
                                                          const PeerCredentials& peer,
                                                          const std::string& path, ChannelRole role,
                                                          const ChannelOptions& options);
// Whether the peer caused the failure of answer_hello, so that the next peer may be served.
bool is_peers_fault(const absl::Status& status);

// Sends the peer the reason for a refusal. Ignores send errors.
void refuse(int fd, const absl::Status& why);

// Whether `uid` may be at the other end: `expected`, or if that is not set, this process's user or
// root.
bool is_expected_user(uid_t uid, std::optional<uid_t> expected);
std::string peer_text(std::uint32_t pid, uid_t uid);  // "pid 12 of user 1000"

}  // namespace lapwing
