// For tests: data that a hostile peer writes into its memory. Thread safety: none.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "testing/channel_frames.h"

namespace lapwing {

struct FrameGeometry {
  std::uint64_t capacity;
  std::uint32_t maximum;
  std::uint32_t payload_offset;
};

inline FrameGeometry any_geometry(Random& random) {
  constexpr std::uint32_t kOffsets[] = {kPayloadOffsetPacked, kPayloadOffsetCalls,
                                        kPayloadOffsetAligned};
  const std::uint64_t capacity = kChannelCapacityMin << random.below(5);
  const std::uint32_t offset = kOffsets[random.below(3)];
  const std::uint32_t largest = largest_message(capacity, offset);
  return {capacity, random.one_in(2) ? largest : static_cast<std::uint32_t>(random.below(largest)),
          offset};
}

// A word that a correct peer would not write there, or sometimes the correct one.
inline std::uint64_t spoilt(Random& random, std::uint64_t right, std::uint64_t capacity) {
  switch (random.below(12)) {
    case 0:
      return 0;
    case 1:
      return random.next();
    case 2:
      return ~std::uint64_t{0} - random.below(130);
    case 3:
      return right + random.below(200) - 100;
    case 4:
      return right + kFrameAlign * (1 + random.below(4));
    case 5:
      return right - kFrameAlign * (1 + random.below(4));
    case 6:
      return right + capacity;
    case 7:
      return right - capacity;
    case 8:
      return right ^ std::uint64_t{1} << random.below(64);
    default:
      return right;
  }
}

// Writes frames that are valid, nearly valid, or invalid.
class FrameForger {
 public:
  FrameForger(std::span<std::byte> data, const FrameGeometry& geometry, Random& random)
      : data_(data), geometry_(geometry), heads_(geometry.capacity), random_(random) {}

  // Writes frames like a producer from `at` on, each sometimes slightly wrong. At the position of a
  // duplex's CallHead it writes similar data.
  void forge(ChannelPosition at) {
    for (std::uint64_t frames = 1 + random_.below(6); frames > 0; --frames) {
      const std::uint64_t place = at % geometry_.capacity;
      const std::uint32_t size = any_size(geometry_.capacity - place);
      const FrameWords words = frame_words(
          heads_, at, size, static_cast<std::uint32_t>(random_.next()), geometry_.payload_offset);
      std::byte* const frame = data_.data() + place;
      const bool is_right = !random_.one_in(8);
      write(frame, is_right ? words.head : spoilt_head(words.head, at));
      write(frame + 8, random_.one_in(8) ? random_.next() : words.second);
      write(frame + 16, random_.one_in(8) ? random_.next() : random_.below(40));
      write(frame + 24, random_.one_in(8) ? random_.next() : random_.below(7));
      at = size <= geometry_.maximum ? at + message_frame_bytes(size, geometry_.payload_offset)
                                     : at + geometry_.capacity - place;
    }
  }
  // Writes a valid duplex frame of `size` bytes.
  void write_message(ChannelPosition at, std::uint32_t size, const CallHead& head) {
    std::byte* const frame = data_.data() + at % geometry_.capacity;
    const FrameWords words = frame_words(heads_, at, size, 0, geometry_.payload_offset);
    write(frame + 8, words.second);
    std::memcpy(frame + kCallHeadOffset, &head, sizeof head);
    write(frame, words.head);
  }
  void scatter_noise() {
    for (std::uint64_t words = 1 + random_.below(16); words > 0; --words) {
      write(data_.data() + random_.below(data_.size() / 8) * 8, random_.next());
    }
  }

 private:
  // A head with a different lap, kind, size or type.
  Word spoilt_head(Word right, ChannelPosition at) {
    switch (random_.below(4)) {
      case 0:
        return spoilt(random_, right, geometry_.capacity);
      case 1:
        return right ^ random_.below(4) << kHeadKindShift;
      case 2:
        return right ^ random_.below(kHeadSizeMask + 1) << kHeadSizeShift;
      default:
        return heads_.at(at + geometry_.capacity * (random_.below(3) - 1), kind_of(right), 0, 0);
    }
  }
  std::uint32_t any_size(std::uint64_t to_end) {
    const auto remaining = static_cast<std::uint32_t>(to_end);
    switch (random_.below(24)) {
      case 0:
        return geometry_.maximum;
      case 1:
        return geometry_.maximum + 1;
      case 2:
        return geometry_.maximum + static_cast<std::uint32_t>(random_.below(4096));
      case 3:
      case 4:
        return kPaddingFrame;
      case 5:
        return kPaddingFrame - static_cast<std::uint32_t>(random_.below(200));
      case 6:
        return static_cast<std::uint32_t>(random_.next());
      case 7:
        return remaining - geometry_.payload_offset;  // up to the end of the data
      case 8:
        return remaining - geometry_.payload_offset + 1 +
               static_cast<std::uint32_t>(random_.below(64));
      default:
        return static_cast<std::uint32_t>(random_.below(geometry_.maximum + 1ULL));
    }
  }
  static void write(std::byte* at, std::uint64_t word) { std::memcpy(at, &word, sizeof word); }

  std::span<std::byte> data_;
  FrameGeometry geometry_;
  FrameHeads heads_;
  Random& random_;
};

}  // namespace lapwing
