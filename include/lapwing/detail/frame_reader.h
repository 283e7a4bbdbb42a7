// Reads messages from one direction of a channel: the consumer's half of the frame protocol
// (lapwing/detail/channel_words.h), without sockets and without waiting.
//
// The memory belongs to the producer, which may be hostile. Each word is copied once, and only the
// checked copy is used. A borrowed payload can still change while it is read. To validate a
// payload, copy it first.
//
// Thread safety: one thread. Owns nothing; the memory must outlive the reader.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "lapwing/channel.h"
#include "lapwing/detail/channel_layout.h"
#include "lapwing/detail/channel_words.h"

namespace lapwing {

class FrameReader {
 public:
  enum class Look {
    kMessage,
    kEmpty,
    kCorrupt,  // a correct producer never writes such a frame
  };

  FrameReader() = default;
  // `header` is a checked copy of the producer's header.
  FrameReader(const std::byte* data, const ChannelHeader& header, ChannelWords& own)
      : data_(data),
        own_(&own),
        capacity_(header.capacity),
        message_bytes_max_(header.message_bytes_max),
        payload_offset_(header.payload_offset),
        heads_(header.capacity) {
    const bool is_packed = header.payload_offset == kPayloadOffsetPacked;
    const auto form = [&](std::uint32_t at) {
      const auto fits = static_cast<std::uint32_t>(kFrameAlign) - at;
      return ShortForm{at, std::min(fits, message_bytes_max_) + 1};
    };
    short_[static_cast<int>(FrameKind::kShort)] = form(payload_offset_);
    if (is_packed) short_[static_cast<int>(FrameKind::kShortPacked)] = form(kPayloadOffsetShort);
  }

  ChannelPosition position() const { return position_; }
  std::uint64_t messages() const { return messages_; }
  std::uint32_t message_bytes_max() const { return message_bytes_max_; }

  // Finds the message at `from`, which is position() or the end of a message found earlier.
  [[gnu::always_inline]] Look look(ChannelPosition from, Message& message) const {
    const std::byte* frame = data_ + (from & (capacity_ - 1));
    Word head = load_frame_head(frame);  // D1
    if (!heads_.is_at(head, from)) return Look::kEmpty;
    std::uint32_t size = short_bytes_of(head);
    std::uint32_t at = payload_offset_;
    std::uint64_t bytes = kFrameAlign;  // a single line never crosses the end
    if (kind_of(head) <= FrameKind::kShortPacked) [[likely]] {
      const ShortForm& form = short_[static_cast<int>(kind_of(head))];
      if (size >= form.bytes_end) [[unlikely]]
        return Look::kCorrupt;
      at = form.payload_offset;
    } else {
      if (kind_of(head) == FrameKind::kPadding) [[unlikely]] {
        head = head_behind_padding(from);
        if (head == kNoHead) return Look::kCorrupt;
        from = (from | (capacity_ - 1)) + 1;
        frame = data_;
      }
      const Word long_bytes = load_long_bytes(frame);  // D2
      if (long_bytes > message_bytes_max_) [[unlikely]]
        return Look::kCorrupt;
      size = static_cast<std::uint32_t>(long_bytes);
      bytes = long_frame_bytes(size, payload_offset_);
      if ((from & (capacity_ - 1)) + bytes > capacity_) [[unlikely]]
        return Look::kCorrupt;
    }
    message.payload = {frame + at, size};
    message.type = type_of(head);
    message.end = from + bytes;
    // Only a faulty producer overwrites unreleased messages.
    return message.end - position_ <= capacity_ ? Look::kMessage : Look::kCorrupt;
  }

  // Returns the CallHead of a duplex message, in the producer's memory.
  const std::byte* call_head(const Message& message) const {
    return message.payload.data() - payload_offset_ + kCallHeadOffset;
  }

  // Releases everything up to `end`, which is `count` messages.
  [[gnu::always_inline]] void release(ChannelPosition end, std::uint64_t count) {
    position_ = end;
    messages_ += count;
    store_received(*own_, position_, messages_);  // D3
  }

 private:
  static constexpr Word kNoHead = 0;  // not the head of a long message

  // The form of short messages of one kind. bytes_end is 0 if the channel does not have the kind.
  struct ShortForm {
    std::uint32_t payload_offset = 0;
    std::uint32_t bytes_end = 0;  // the largest payload plus one
  };

  // Returns the head of the long message that must follow padding at `from`, or kNoHead.
  [[gnu::noinline]] Word head_behind_padding(ChannelPosition from) const {
    if ((from & (capacity_ - 1)) == 0) return kNoHead;
    const Word head = load_frame_head(data_);  // stored before the padding's head
    const bool is_there = heads_.is_at(head, (from | (capacity_ - 1)) + 1);
    return is_there && kind_of(head) == FrameKind::kLong ? head : kNoHead;
  }

  const std::byte* data_ = nullptr;
  ChannelWords* own_ = nullptr;
  std::uint64_t capacity_ = 0;
  std::uint32_t message_bytes_max_ = 0;
  std::uint32_t payload_offset_ = 0;
  FrameHeads heads_;
  ShortForm short_[2];
  ChannelPosition position_ = 0;  // first unreleased frame
  std::uint64_t messages_ = 0;    // released
};

}  // namespace lapwing
