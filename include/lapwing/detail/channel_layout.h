// The memory files of a channel, byte for byte. No behaviour; the protocol over them is part 4 of
// lapwing/detail/channel_words.h, the document is docs/channel.md.
//
// Each side of a channel owns one sealed file in memory, which the other maps read-only:
//
//   page 0      ChannelHeader  written once, before the file is handed over
//   page 1      ChannelWords   one value per 128 bytes, written by the owner's process only
//   page 2 on   data           `capacity` bytes of frames that the owner sends; none if it only
//                              receives
//
// A position counts bytes from the beginning of the connection and never wraps; the frame at position
// p stands at offset p mod capacity. A frame is a MessageHead, padding up to payload_offset, and
// the payload, rounded up to a multiple of kFrameAlign, and never crosses the end of the data: what
// is left there is skipped by a frame of padding.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "lapwing/detail/memory_layout.h"
#include "lapwing/sequence.h"

namespace lapwing {

// A byte position in one direction of a channel: a multiple of kFrameAlign.
using ChannelPosition = std::uint64_t;

inline constexpr std::uint64_t kFrameAlign = 64;            // frames begin at multiples of it
inline constexpr std::uint32_t kPayloadOffsetPacked = 16;   // right behind the head
inline constexpr std::uint32_t kPayloadOffsetCalls = 32;    // behind the head and a CallHead
inline constexpr std::uint32_t kPayloadOffsetAligned = 64;  // payloads aligned to 64 bytes
inline constexpr std::uint64_t kChannelCapacityMin = 1024;  // bytes of data, a power of two
inline constexpr std::uint64_t kChannelCapacityMax = std::uint64_t{1} << 36;
inline constexpr std::uint32_t kMessageBytesMax = std::uint32_t{1} << 30;
inline constexpr std::uint32_t kCallWindowMax = 4096;  // calls that one side may have unanswered

struct MessageHead {
  std::uint64_t stamp;  // frame_stamp(position) once the frame is there
  std::uint32_t size;   // bytes of payload, or kPaddingSize
  std::uint32_t type;   // the user's
};
static_assert(sizeof(MessageHead) == 16);
static_assert(offsetof(MessageHead, size) == 8);
static_assert(offsetof(MessageHead, type) == 12);

enum class CallKind : std::uint32_t {
  kOneWay = 1,      // a message beside the calls
  kCall = 2,        // a request
  kReply = 3,       // to the call of the same number
  kErrorReply = 4,  // the same: the payload is a text, `code` the server's
  kCancel = 5,      // nobody waits for the reply any more; it is still to be given
};

// A call's number is a serial number, from 1 on, times the callee's window, plus the call's place
// in that window. No two unanswered calls have the same place, and no number is used twice.
constexpr std::uint64_t call_number(std::uint64_t serial, std::uint32_t window,
                                    std::uint32_t place) {
  return serial * window + place;
}
constexpr std::uint32_t call_place(std::uint64_t call, std::uint32_t window) {
  return static_cast<std::uint32_t>(call % window);
}

// In a duplex each message has one behind its MessageHead.
struct CallHead {
  std::uint64_t call;  // the caller's number of the call (call_number); 0 for kOneWay
  CallKind kind;
  std::uint32_t code;  // of an error reply, the server's to choose; else 0
};
static_assert(sizeof(CallHead) == 16);
static_assert(offsetof(CallHead, kind) == 8);
static_assert(offsetof(CallHead, code) == 12);

// The size of a frame that only leads to the end of the data.
inline constexpr std::uint32_t kPaddingSize = 0xffffffff;

// Never 0, so that zeroed memory never looks ready, and never that of another lap.
constexpr std::uint64_t frame_stamp(ChannelPosition position) {
  return position + 1;
}

// Bytes of the frame that holds a message of `size` bytes.
constexpr std::uint64_t message_frame_bytes(std::uint64_t size, std::uint32_t payload_offset) {
  return (payload_offset + size + kFrameAlign - 1) / kFrameAlign * kFrameAlign;
}

// The least data in which a message of `message_bytes_max` always becomes sendable: a frame of that
// size and the padding before it, which is shorter than the frame.
constexpr std::uint64_t channel_capacity_for(std::uint64_t message_bytes_max,
                                             std::uint32_t payload_offset) {
  const std::uint64_t needed = 2 * message_frame_bytes(message_bytes_max, payload_offset);
  const std::uint64_t capacity = std::bit_ceil(needed);
  return capacity < kChannelCapacityMin ? kChannelCapacityMin : capacity;
}

inline constexpr std::uint64_t kChannelMagic =
    0x314e484357504c;  // "LPWCHN1" in little-endian order

enum class ChannelRole : std::uint32_t {
  kProducer = 1,
  kConsumer = 2,
  kDuplex = 3,  // both directions, with calls
};

struct ChannelHeader {
  std::uint64_t magic;
  std::uint32_t abi_version;
  std::uint32_t header_bytes;  // offset of the data: pages 0 and 1
  std::uint64_t feature_bits;  // none defined; a peer refuses any it does not know
  std::uint64_t capacity;      // bytes of data, a power of two; 0: this side only receives
  std::uint32_t message_bytes_max;
  std::uint32_t payload_offset;   // kPayloadOffsetPacked (kDuplex: Calls), or kPayloadOffsetAligned
  ChannelRole role;               // of the owner
  std::uint32_t call_window;      // calls that the owner takes unanswered; 0 but for kDuplex
  std::uint32_t pid;              // of the owner
  std::uint32_t listens;          // 1: the owner listened, 0: it connected
  Id128 connection_id;            // both sides' files carry the same
  std::uint64_t created_wall_ns;  // UTC
  char name[64];                  // of the owner
  char path[512];                 // of the socket, as the owner was given it
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
  kClosed = 2,   // the owner closed it; what it had committed is to be read first
  kCorrupt = 3,  // the owner closed it because of what the other side had written
};

// How far one direction has come, as the owner of the words last said. On one line, so that the
// count costs nothing beside the position.
struct alignas(kWordStride) ChannelProgress {
  std::uint64_t position;
  std::uint64_t messages;
  std::uint8_t padding[kWordStride - 16];
};
static_assert(sizeof(ChannelProgress) == kWordStride);
static_assert(offsetof(ChannelProgress, messages) == 8);

struct ChannelWords {
  ChannelProgress sent;      // committed by the owner; for `lapwing info`, no one relies on it
  ChannelProgress received;  // released by the owner: below it, the other side may write again
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
