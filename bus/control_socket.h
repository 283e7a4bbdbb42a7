// The control socket's plumbing, shared by both sides: which socket it is, and frames in and out.
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

#include "absl/status/statusor.h"
#include "os/local_socket.h"
#include "os/printable.h"
#include "os/unique_fd.h"
#include "proto/control_frames.h"

namespace lapwing {

inline constexpr char kControlSocketName[] = "control.sock";

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

// How long a frame of a type is, and 0 for a type that does not exist: one protocol's answer.
using FrameBytes = std::size_t (*)(FrameType type);

// The frame's type, if magic, version, type and length fit the packet's bytes; kProtocol otherwise.
// A packet whose size is larger than its bytes was truncated, which never fits.
absl::StatusOr<FrameType> check_frame(const Packet& packet, FrameBytes bytes_of = frame_bytes);

// listen_local for a bus; the caller holds the publisher's lock.
absl::StatusOr<UniqueFd> listen_control(const std::string& path, mode_t mode,
                                        std::optional<unsigned> group);

// check_unserved for a bus.
absl::Status check_no_control(const std::string& path);

// connect_local, which says kPublisherGone if nobody listens, for a bus: kNotPermitted also if the
// listener runs neither as the owner of the socket's directory nor as root.
absl::StatusOr<UniqueFd> connect_control(const std::string& path, std::uint64_t deadline_ns);

enum class SendOutcome { kSent, kWouldBlock, kClosed };
SendOutcome send_frame(int fd, std::span<const std::byte> frame);
template <typename Frame>
  requires std::same_as<decltype(Frame::header), FrameHeader>  // or a container of bytes would fit
SendOutcome send_frame(int fd, const Frame& frame) {
  return send_frame(fd, std::as_bytes(std::span(&frame, 1)));
}

enum class ReceiveOutcome { kFrame, kWouldBlock, kClosed, kViolation };
// Never blocks. kViolation: a packet that is empty, truncated or fails check_frame. An empty packet
// directly before the end is told from the end where packets come with their sender's credentials
// (a publisher's side); anyone else takes it for the end.
ReceiveOutcome receive_frame(int fd, Packet& packet, FrameBytes bytes_of = frame_bytes);

}  // namespace lapwing
