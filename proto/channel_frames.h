// The frames on a channel's socket, byte for byte: AF_UNIX, SOCK_SEQPACKET, one frame per packet.
// No behaviour; see docs/explanation/channel-protocol.md for the protocol.
//
// They begin like the control socket's frames and share their numbering. ChannelHello and
// ChannelWelcome carry one descriptor (SCM_RIGHTS): the sender's memory file. HandedOver carries
// the listening socket, then the sockets of the waiting peers. Other frames carry no descriptors.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lapwing/detail/channel_layout.h"
#include "lapwing/sequence.h"
#include "proto/control_frames.h"

namespace lapwing {

// Also used for ChannelWelcome, with the values of the listening side.
struct ChannelHelloFrame {
  FrameHeader header;
  std::uint32_t abi_version;
  ChannelRole role;              // of the sender
  std::uint32_t has_membarrier;  // 1: the sender's process is registered for GLOBAL_EXPEDITED
  std::uint32_t pid;
  Id128 connection_id;  // chosen by the connecting side, repeated by the listening side
};
static_assert(sizeof(ChannelHelloFrame) == 48);
static_assert(offsetof(ChannelHelloFrame, abi_version) == 16);
static_assert(offsetof(ChannelHelloFrame, role) == 20);
static_assert(offsetof(ChannelHelloFrame, has_membarrier) == 24);
static_assert(offsetof(ChannelHelloFrame, pid) == 28);
static_assert(offsetof(ChannelHelloFrame, connection_id) == 32);

struct WakeFrame {
  FrameHeader header;
};
static_assert(sizeof(WakeFrame) == 16);

struct TakeOverFrame {
  FrameHeader header;
  std::uint32_t abi_version;
  std::uint32_t reserved;
};
static_assert(sizeof(TakeOverFrame) == 24);
static_assert(offsetof(TakeOverFrame, abi_version) == 16);

struct HandedOverFrame {
  FrameHeader header;
  std::uint32_t waiting;  // number of peers whose sockets follow; none of their frames was read
  std::uint32_t reserved;
};
static_assert(sizeof(HandedOverFrame) == 24);
static_assert(offsetof(HandedOverFrame, waiting) == 16);

struct TakenOverFrame {
  FrameHeader header;
};
static_assert(sizeof(TakenOverFrame) == 16);

// Returns the exact size of a frame of this type, or 0 for a type that is not used on a channel's
// socket.
constexpr std::size_t channel_frame_bytes(FrameType type) {
  switch (type) {
    case FrameType::kRefused:
      return sizeof(RefusedFrame);
    case FrameType::kChannelHello:
    case FrameType::kChannelWelcome:
      return sizeof(ChannelHelloFrame);
    case FrameType::kWake:
      return sizeof(WakeFrame);
    case FrameType::kTakeOver:
      return sizeof(TakeOverFrame);
    case FrameType::kHandedOver:
      return sizeof(HandedOverFrame);
    case FrameType::kTakenOver:
      return sizeof(TakenOverFrame);
    default:
      return 0;
  }
}

// Both sides of a channel have the same version, so a frame has exactly the size of its type.
constexpr FrameLength channel_frame_length(FrameType type) {
  return {channel_frame_bytes(type), channel_frame_bytes(type)};
}

// Listener limits.
inline constexpr std::size_t kPeersWaitingMax = 64;  // connected and not yet served

}  // namespace lapwing
