// For tests: both halves of the frame protocol over plain memory, distinguishable messages, and the
// number of repetitions of a test. Thread safety: none.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>

#include "lapwing/detail/frame_reader.h"
#include "lapwing/detail/frame_writer.h"
#include "testing/environment.h"

namespace lapwing {

// The number of random operations, or of variants written by a hostile peer.
inline std::uint64_t channel_operations() {
  return count_from("LAPWING_CHANNEL_OPERATIONS", 100'000);
}

// The finaliser of splitmix64: a pseudorandom number that depends only on the input.
constexpr std::uint64_t mixed(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(mixed(seed)) {}
  std::uint64_t next() { return mixed(state_++); }
  // A number below `end`, which must be below 2^32.
  std::uint64_t below(std::uint64_t end) { return ((next() >> 32) * end) >> 32; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }

 private:
  std::uint64_t state_;
};

// Bytes that start at a frame's alignment and end exactly where the sanitizer can detect overruns.
class FrameMemory {
 public:
  explicit FrameMemory(std::size_t size)
      : bytes_(static_cast<std::byte*>(std::aligned_alloc(kFrameAlign, size))), size_(size) {}
  std::span<std::byte> bytes() const { return {bytes_.get(), size_}; }

 private:
  struct Free {
    void operator()(std::byte* bytes) const { std::free(bytes); }
  };
  std::unique_ptr<std::byte, Free> bytes_;
  std::size_t size_;
};

inline bool lies_in(std::span<const std::byte> part, std::span<const std::byte> whole) {
  return part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size();
}

inline ChannelHeader frame_header(std::uint64_t capacity, std::uint32_t message_bytes_max,
                                  std::uint32_t payload_offset) {
  ChannelHeader header{};
  header.role = ChannelRole::kProducer;
  header.capacity = capacity;
  header.message_bytes_max = message_bytes_max;
  header.payload_offset = payload_offset;
  return header;
}

// One direction of a channel, over memory owned by the caller.
struct FrameRing {
  FrameRing(std::span<std::byte> memory, std::uint32_t message_bytes_max,
            std::uint32_t payload_offset)
      : FrameRing(memory, frame_header(memory.size(), message_bytes_max, payload_offset)) {}
  FrameRing(std::span<std::byte> memory, const ChannelHeader& header)
      : writer(memory.data(), header, producer_words, consumer_words),
        reader(memory.data(), header, consumer_words) {
    std::memset(memory.data(), 0, memory.size());
  }

  ChannelWords producer_words{};
  ChannelWords consumer_words{};
  FrameWriter writer;
  FrameReader reader;
};

// The largest message that check_channel_geometry accepts for this capacity.
constexpr std::uint32_t largest_message(std::uint64_t capacity, std::uint32_t payload_offset) {
  return static_cast<std::uint32_t>(capacity / 2) - payload_offset;
}

// The frame size in bytes of a message whose claim had `claimed` bytes.
constexpr std::uint64_t committed_frame_bytes(std::size_t claimed, std::size_t size,
                                              std::uint32_t payload_offset) {
  return claimed <= short_bytes_max(payload_offset) ? kFrameAlign
                                                    : long_frame_bytes(size, payload_offset);
}
constexpr std::uint32_t payload_place(std::size_t claimed, std::uint32_t payload_offset) {
  const bool is_packed =
      claimed > kFrameAlign - payload_offset && claimed <= short_bytes_max(payload_offset);
  return is_packed ? kPayloadOffsetShort : payload_offset;
}

// The first two words of a valid frame. A size of kPaddingFrame means padding.
inline constexpr std::uint32_t kPaddingFrame = 0xffffffff;
struct FrameWords {
  Word head;
  Word second;
};
inline FrameWords frame_words(const FrameHeads& heads, ChannelPosition at, std::uint32_t size,
                              std::uint32_t type, std::uint32_t payload_offset) {
  if (size == kPaddingFrame) return {heads.at(at, FrameKind::kPadding, 0, 0), 0};
  if (size > short_bytes_max(payload_offset)) {
    return {heads.at(at, FrameKind::kLong, 0, type), size};
  }
  const bool is_packed = payload_place(size, payload_offset) != payload_offset;
  const FrameKind kind = is_packed ? FrameKind::kShortPacked : FrameKind::kShort;
  return {heads.at(at, kind, size, type), 0};
}

// Content that can be checked in parts: the eight bytes at `place` of a message.
constexpr std::uint64_t content_at(std::uint64_t key, std::size_t place) {
  return std::rotr(key, static_cast<int>(place % 8 * 8));
}
inline void put_content(std::span<std::byte> payload, std::uint64_t key, std::size_t place) {
  const std::uint64_t content = content_at(key, place);
  std::memcpy(payload.data() + place, &content, sizeof content);
}
inline bool has_content(std::span<const std::byte> payload, std::uint64_t key, std::size_t place) {
  std::uint64_t content;
  std::memcpy(&content, payload.data() + place, sizeof content);
  return content == content_at(key, place);
}

}  // namespace lapwing
