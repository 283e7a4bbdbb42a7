// A channel's memory files, byte for byte, without behaviour. lapwing/detail/channel_words.h
// contains the protocol, and docs/explanation/channel-protocol.md describes it.
//
// Each side of a channel owns one sealed file in memory, which the other maps read-only:
//
//   page 0      ChannelHeader  written once, before the file is handed over
//   page 1      ChannelWords   one value per 128 bytes, written by the owner's process only
//   page 2 on   data           `capacity` bytes of frames that the owner sends; empty if it
//                              only receives
//
// A position counts bytes from the beginning of the connection and never wraps. The frame at
// position p is at offset p mod capacity. A frame begins with a head of 8 bytes (see FrameKind).
// Storing the head makes the frame visible. The payload is at payload_offset, or at 8 if the frame
// then fits into one line. The size of a frame is rounded up to a multiple of kFrameAlign. Frames
// do not cross the end of the data: a padding frame covers the rest.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "lapwing/detail/enum_names.h"
#include "lapwing/detail/memory_layout.h"
#include "lapwing/sequence.h"

namespace lapwing {

// A byte position in one direction of a channel: a multiple of kFrameAlign.
using ChannelPosition = std::uint64_t;

inline constexpr std::uint64_t kFrameAlign = 64;            // frames begin at multiples of it
inline constexpr std::uint32_t kPayloadOffsetPacked = 16;   // after the head and a size
inline constexpr std::uint32_t kPayloadOffsetCalls = 32;    // after those and a CallHead
inline constexpr std::uint32_t kPayloadOffsetAligned = 64;  // payloads aligned to 64 bytes
inline constexpr std::uint64_t kChannelCapacityMin = 1024;  // bytes of data, a power of two
inline constexpr std::uint64_t kChannelCapacityMax = std::uint64_t{1} << 36;
inline constexpr std::uint32_t kMessageBytesMax = std::uint32_t{1} << 30;
inline constexpr std::uint32_t kCallWindowMax = 4096;  // unanswered calls that one side may have

// The head of a frame:
//
//   bits  0 to 31  type, chosen by the user; 0 in padding
//   bits 32 to 39  bytes of payload of a short message; else 0
//   bits 40 to 41  FrameKind
//   bits 42 to 63  lap: position / capacity + 1, modulo 2^22
enum class FrameKind : std::uint32_t {
  kShort = 0,        // one line, payload at payload_offset
  kShortPacked = 1,  // one line, payload at kPayloadOffsetShort; only with kPayloadOffsetPacked
  kLong = 2,         // the second word is its size, and its payload is at payload_offset
  kPadding = 3,      // up to the end of the data; a long message follows at the beginning
};
inline constexpr std::uint32_t kHeadSizeShift = 32;
inline constexpr std::uint32_t kHeadKindShift = 40;
inline constexpr std::uint32_t kHeadLapShift = 42;
inline constexpr std::uint64_t kHeadSizeMask = 0xff;  // of the shifted word
inline constexpr std::uint64_t kHeadKindMask = 3;
inline constexpr std::uint32_t kPayloadOffsetShort = 8;  // of FrameKind::kShortPacked
inline constexpr std::uint32_t kCallHeadOffset = 16;     // in a duplex, in every frame

enum class CallKind : std::uint32_t {
  kOneWay = 1,      // a message that is not part of a call
  kCall = 2,        // a request
  kReply = 3,       // reply to the call with the same number
  kErrorReply = 4,  // the same; the payload is text, and the server chose `code`
  kCancel = 5,      // the caller no longer waits for the reply, which must still be sent
};

// A call's number is a serial number, beginning with 1, times the callee's window, plus the call's
// slot in that window. Two unanswered calls never have the same slot, and no number is used twice.
constexpr std::uint64_t call_number(std::uint64_t serial, std::uint32_t window,
                                    std::uint32_t place) {
  return serial * window + place;
}
constexpr std::uint32_t call_place(std::uint64_t call, std::uint32_t window) {
  return static_cast<std::uint32_t>(call % window);
}

// Each message of a duplex has a CallHead at kCallHeadOffset.
struct CallHead {
  std::uint64_t call;  // the caller's number for the call (call_number); 0 for kOneWay
  CallKind kind;
  std::uint32_t code;  // of an error reply, chosen by the server; else 0
};
static_assert(sizeof(CallHead) == 16);
static_assert(offsetof(CallHead, kind) == 8);
static_assert(offsetof(CallHead, code) == 12);

// Returns the largest payload that fits into a one-line frame.
constexpr std::uint32_t short_bytes_max(std::uint32_t payload_offset) {
  const std::uint32_t at =
      payload_offset == kPayloadOffsetPacked ? kPayloadOffsetShort : payload_offset;
  return static_cast<std::uint32_t>(kFrameAlign) - at;
}

// Returns the frame size of a long message, whose claim was larger than short_bytes_max().
constexpr std::uint64_t long_frame_bytes(std::uint64_t size, std::uint32_t payload_offset) {
  return (payload_offset + size + kFrameAlign - 1) / kFrameAlign * kFrameAlign;
}

// Returns the frame size of a message of `size` bytes, if its whole claim is used.
constexpr std::uint64_t message_frame_bytes(std::uint64_t size, std::uint32_t payload_offset) {
  return size <= short_bytes_max(payload_offset) ? kFrameAlign
                                                 : long_frame_bytes(size, payload_offset);
}

// Returns the smallest capacity that has room for a message of `message_bytes_max` at any position
// once the consumer has released everything. It holds a frame of that size and the padding before
// it, which is shorter than the frame.
constexpr std::uint64_t channel_capacity_for(std::uint64_t message_bytes_max,
                                             std::uint32_t payload_offset) {
  const std::uint64_t needed = 2 * message_frame_bytes(message_bytes_max, payload_offset);
  const std::uint64_t capacity = std::bit_ceil(needed);
  return capacity < kChannelCapacityMin ? kChannelCapacityMin : capacity;
}

inline constexpr std::uint64_t kChannelMagic =
    0x314e484357504c;  // "LPWCHN1" in little-endian order

// The version of the memory files, the frames and the handshake of a channel. Both sides must have
// the same version. In version 1, frames had a 16-byte head.
inline constexpr std::uint32_t kChannelAbiVersion = 2;

enum class ChannelRole : std::uint32_t {
  kProducer = 1,
  kConsumer = 2,
  kDuplex = 3,  // both directions, with calls
};

constexpr const char* name_of(ChannelRole role) {
  constexpr detail::EnumName<ChannelRole> kNames[] = {{ChannelRole::kProducer, "producer"},
                                                      {ChannelRole::kConsumer, "consumer"},
                                                      {ChannelRole::kDuplex, "duplex"}};
  return detail::name_in(kNames, role);
}

struct ChannelHeader {
  std::uint64_t magic;
  std::uint32_t abi_version;
  std::uint32_t header_bytes;  // offset of the data: pages 0 and 1
  std::uint64_t feature_bits;  // none defined; a peer refuses unknown bits
  std::uint64_t capacity;      // bytes of data, a power of two; 0: this side only receives
  std::uint32_t message_bytes_max;
  std::uint32_t payload_offset;   // kPayloadOffsetPacked (kDuplex: Calls), or kPayloadOffsetAligned
  ChannelRole role;               // of the owner
  std::uint32_t call_window;      // unanswered calls that the owner accepts; 0 except for kDuplex
  std::uint32_t pid;              // of the owner
  std::uint32_t listens;          // 1: the owner listened, 0: it connected
  Id128 connection_id;            // the same in both sides' files
  std::uint64_t created_wall_ns;  // UTC
  char name[64];                  // of the owner
  char path[512];                 // of the socket, as passed to the owner
  std::uint8_t reserved[3440];
};
static_assert(sizeof(ChannelHeader) == kPageBytes);
static_assert(offsetof(ChannelHeader, abi_version) == 8);
static_assert(offsetof(ChannelHeader, header_bytes) == 12);
static_assert(offsetof(ChannelHeader, feature_bits) == 16);
static_assert(offsetof(ChannelHeader, capacity) == 24);
static_assert(offsetof(ChannelHeader, message_bytes_max) == 32);
static_assert(offsetof(ChannelHeader, payload_offset) == 36);
static_assert(offsetof(ChannelHeader, role) == 40);
static_assert(offsetof(ChannelHeader, call_window) == 44);
static_assert(offsetof(ChannelHeader, pid) == 48);
static_assert(offsetof(ChannelHeader, listens) == 52);
static_assert(offsetof(ChannelHeader, connection_id) == 56);
static_assert(offsetof(ChannelHeader, created_wall_ns) == 72);
static_assert(offsetof(ChannelHeader, name) == 80);
static_assert(offsetof(ChannelHeader, path) == 144);

enum class ChannelState : std::uint64_t {
  kOpen = 1,
  kClosed = 2,   // the owner closed it; committed messages can still be read
  kCorrupt = 3,  // the owner closed it because the other side wrote invalid data
};

constexpr const char* name_of(ChannelState state) {
  constexpr detail::EnumName<ChannelState> kNames[] = {{ChannelState::kOpen, "open"},
                                                       {ChannelState::kClosed, "closed"},
                                                       {ChannelState::kCorrupt, "corrupt"}};
  return detail::name_in(kNames, state);
}

// The progress of one direction, as last stored by the owner of the words. Both values are on one
// cache line, so storing the count as well costs nothing.
struct alignas(kWordStride) ChannelProgress {
  std::uint64_t position;
  std::uint64_t messages;
  std::uint8_t padding[kWordStride - 16];
};
static_assert(sizeof(ChannelProgress) == kWordStride);
static_assert(offsetof(ChannelProgress, messages) == 8);

struct ChannelWords {
  ChannelProgress sent;      // committed by the owner; only for `lapwing info`
  ChannelProgress received;  // released by the owner; the other side may overwrite bytes below it
  PaddedWord ticket;         // odd: the owner sleeps, or is about to; a new one for each sleep
  PaddedWord state;          // ChannelState
  PaddedWord taken;          // one-way messages that the owner's application has taken (duplex)
  PaddedWord full_waits;     // times the owner waited for room
  PaddedWord empty_waits;    // times it waited for a message
  PaddedWord sleeps;         // times it slept
  PaddedWord wakes;          // times it woke the other side
  std::uint8_t reserved[kPageBytes - 9 * kWordStride];
};
static_assert(sizeof(ChannelWords) == kPageBytes);
static_assert(offsetof(ChannelWords, sent) == 0);
static_assert(offsetof(ChannelWords, received) == 128);
static_assert(offsetof(ChannelWords, ticket) == 256);
static_assert(offsetof(ChannelWords, state) == 384);
static_assert(offsetof(ChannelWords, taken) == 512);
static_assert(offsetof(ChannelWords, full_waits) == 640);
static_assert(offsetof(ChannelWords, empty_waits) == 768);
static_assert(offsetof(ChannelWords, sleeps) == 896);
static_assert(offsetof(ChannelWords, wakes) == 1024);

inline constexpr std::uint32_t kChannelHeaderBytes = 2 * kPageBytes;

}  // namespace lapwing
