// The control socket's plumbing, shared by both sides: paths, frames in and out, peer credentials.
//
// Thread safety: free functions over descriptors the caller owns.
#pragma once

#include <sys/types.h>

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

// Listens on `path` with `mode`. Removes only a stale socket of our own (the caller holds the
// publisher's lock); a file, link, directory or live socket there is kNotALapwingFile or kBusTaken
// and is untouched. kPathTooLong names the limit of a socket's path.
absl::StatusOr<UniqueFd> listen_control(const std::string& path, mode_t mode,
                                        std::optional<unsigned> group);
// Connects, and checks that the listener runs as the owner of the socket's directory or as root.
// Errors: kNoBus (nothing there), kPublisherGone (nobody listens), kNotPermitted, kNotALapwingFile.
absl::StatusOr<UniqueFd> connect_control(const std::string& path);

absl::StatusOr<PeerCredentials> peer_credentials(int fd);

enum class SendOutcome { kSent, kWouldBlock, kClosed };
SendOutcome send_frame(int fd, std::span<const std::byte> frame);
template <typename Frame>
SendOutcome send_frame(int fd, const Frame& frame) {
  return send_frame(fd, std::as_bytes(std::span(&frame, 1)));
}

enum class ReceiveOutcome { kFrame, kWouldBlock, kClosed, kViolation };
// Never blocks. kViolation: a packet that is empty, truncated or fails check_frame.
ReceiveOutcome receive_frame(int fd, Packet& packet);

}  // namespace lapwing
