// Frames over a local socket, in and out: for the control socket of a bus and the socket of a
// channel.
//
// Free functions over descriptors the caller owns. No send or receive blocks, and none raises
// SIGPIPE.
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

  // After check_frame. Of a longer frame its beginning; what a shorter one lacks is zero.
  template <typename Frame>
  Frame as() const {
    Frame frame{};
    std::memcpy(&frame, bytes, std::min(size, sizeof frame));
    return frame;
  }
};

// How long a frame of a type may be, and {0, 0} for a type that does not exist: one protocol's
// answer.
using FrameLengths = FrameLength (*)(FrameType type);

// The frame's type, if magic, version and length fit the packet's bytes; kProtocol otherwise. A
// packet whose size is larger than its bytes was truncated, which never fits.
absl::StatusOr<FrameType> check_frame(const Packet& packet,
                                      FrameLengths length_of = control_frame_length);

enum class SendOutcome { kSent, kWouldBlock, kClosed };
SendOutcome send_frame(int fd, std::span<const std::byte> frame);
template <typename Frame>
  requires std::same_as<decltype(Frame::header), FrameHeader>  // or a container of bytes would fit
SendOutcome send_frame(int fd, const Frame& frame) {
  return send_frame(fd, std::as_bytes(std::span(&frame, 1)));
}

enum class ReceiveOutcome { kFrame, kWouldBlock, kClosed, kViolation };
// Never blocks. kViolation: a packet that is empty, truncated, carries descriptors (it stays there) or
// fails check_frame. An empty packet
// directly before the end is told from the end where packets come with their sender's credentials
// (a publisher's side); anyone else takes it for the end.
ReceiveOutcome receive_frame(int fd, Packet& packet, FrameLengths length_of = control_frame_length);

}  // namespace lapwing
