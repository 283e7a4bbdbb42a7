// The control socket's plumbing, shared by both sides: paths, frames in and out, peer credentials.
//
// A bus directory may be longer than a socket's path can be: such a socket is reached through a
// descriptor of its directory (/proc/self/fd/N/control.sock).
//
// Thread safety: free functions over descriptors the caller owns. No send or receive blocks, and
// none raises SIGPIPE.
#pragma once

#include <sys/types.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/unique_fd.h"
#include "proto/control_frames.h"

namespace lapwing {

inline constexpr char kControlSocketName[] = "control.sock";

struct PeerCredentials {
  pid_t pid;
  uid_t uid;
  gid_t gid;
};

// A frame of type Frame with its header filled in and every other byte zero.
template <typename Frame>
Frame make_frame(FrameType type) {
  Frame frame{};
  frame.header = {kFrameMagic, kFrameVersion, type, static_cast<std::uint32_t>(sizeof frame), 0};
  return frame;
}

// One received packet, not yet trusted beyond what check_frame says.
struct Packet {
  alignas(8) std::byte bytes[kFrameBytesMax];
  std::size_t size = 0;

  template <typename Frame>
  Frame as() const {  // after check_frame
    Frame frame;
    std::memcpy(&frame, bytes, sizeof frame);
    return frame;
  }
};

// The frame's type, if magic, version, type and length fit the packet's bytes; kProtocol otherwise.
absl::StatusOr<FrameType> check_frame(const Packet& packet);

// Text from the other side, fit for a terminal and a log: what is not printable ASCII becomes '?'.
std::string printable(std::string text);

inline constexpr int kListenBacklog = 128;  // connections that wait to be accepted

// Listens on `path`, which is at no moment reachable with more than `mode` allows. Removes only a
// stale socket of our own (the caller holds the publisher's lock).
// Errors: kBusTaken (a live socket is there), kNotALapwingFile (a file, link or directory is
// there), kNotPermitted (another user's socket is there, or we may not create ours or give it to
// the group); what is there stays untouched. kNotFound (no such directory), kPathTooLong, kSystem.
absl::StatusOr<UniqueFd> listen_control(const std::string& path, mode_t mode,
                                        std::optional<unsigned> group);

// Connects, waiting until deadline_ns (CLOCK_MONOTONIC) while the listener's backlog is full, and
// checks that the listener runs as the owner of the socket's directory or as root.
// Errors: kNoBus (nothing there), kPublisherGone (nobody listens), kNotPermitted, kNotALapwingFile,
// kTimedOut, kPathTooLong, kSystem.
absl::StatusOr<UniqueFd> connect_control(const std::string& path, std::uint64_t deadline_ns);

// Who the other end was when it connected or listened; the kernel says so, not the peer.
absl::StatusOr<PeerCredentials> peer_credentials(int fd);
// Whether `group` is the peer's group or one of its supplementary groups.
bool peer_in_group(int fd, const PeerCredentials& peer, gid_t group);

enum class SendOutcome { kSent, kWouldBlock, kClosed };
SendOutcome send_frame(int fd, std::span<const std::byte> frame);
template <typename Frame>
  requires std::same_as<decltype(Frame::header), FrameHeader>  // or a container of bytes would fit
SendOutcome send_frame(int fd, const Frame& frame) {
  return send_frame(fd, std::as_bytes(std::span(&frame, 1)));
}

enum class ReceiveOutcome { kFrame, kWouldBlock, kClosed, kViolation };
// Never blocks. kViolation: a packet that is empty, truncated or fails check_frame. An empty packet
// directly before the end is told from the end on a listener's side (see listen_control); a client
// takes it for the end.
ReceiveOutcome receive_frame(int fd, Packet& packet);

}  // namespace lapwing
