// Sends and receives frames over a local socket, for a bus's control socket and a channel's
// socket.
//
// Free functions that never block and never raise SIGPIPE. The caller owns the descriptors.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "absl/status/statusor.h"
#include "proto/control_frames.h"

namespace lapwing {

// Makes a frame with its header filled in and every other byte zero.
template <typename Frame>
Frame make_frame(FrameType type) {
  Frame frame{};
  frame.header = {kFrameMagic, kFrameVersion, type, static_cast<std::uint32_t>(sizeof frame), 0};
  return frame;
}

// One received packet. Its contents are untrusted, except as check_frame verifies them.
struct Packet {
  alignas(8) std::byte bytes[kFrameBytesMax];
  std::size_t size = 0;

  // Call it after check_frame. A longer frame is truncated, and missing fields of a shorter one are
  // zero.
  template <typename Frame>
  Frame as() const {
    Frame frame{};
    std::memcpy(&frame, bytes, std::min(size, sizeof frame));
    return frame;
  }
};

// Returns the permitted size of a frame of that type in one protocol, or {0, 0} for a type that
// does not exist.
using FrameLengths = FrameLength (*)(FrameType type);

// Returns the frame's type if magic, version and length match the packet's bytes, otherwise
// kProtocol. A packet whose size is larger than its bytes was truncated, and never matches.
absl::StatusOr<FrameType> check_frame(const Packet& packet,
                                      FrameLengths length_of = control_frame_length);

enum class SendOutcome { kSent, kWouldBlock, kClosed };
SendOutcome send_frame(int fd, std::span<const std::byte> frame);
template <typename Frame>
  requires std::same_as<decltype(Frame::header), FrameHeader>  // excludes containers of bytes
SendOutcome send_frame(int fd, const Frame& frame) {
  return send_frame(fd, std::as_bytes(std::span(&frame, 1)));
}

enum class ReceiveOutcome { kFrame, kWouldBlock, kClosed, kViolation };
// Never blocks. kViolation: a packet that is empty, truncated, carries descriptors (it stays in the
// socket) or fails check_frame. An empty packet directly before the end is distinguished from the
// end only if packets have their sender's credentials (on a publisher's side). Otherwise it is
// treated as the end.
ReceiveOutcome receive_frame(int fd, Packet& packet, FrameLengths length_of = control_frame_length);

}  // namespace lapwing
