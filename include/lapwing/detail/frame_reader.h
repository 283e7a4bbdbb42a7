// Reads messages from one direction of a channel: the consumer's half of the frame protocol
// (lapwing/detail/channel_words.h), without sockets and without waiting.
//
// The memory is the producer's, and the producer may be hostile: each word is copied once, and only
// a copy that was checked is used. A payload that is borrowed can still change while it is read;
// whoever must validate one copies it first.
//
// Thread safety: one thread. Owns nothing: the memory outlives it.
#pragma once

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
    kCorrupt,  // no correct producer leaves such a frame
  };

  FrameReader() = default;
  // `header` is a checked copy of the producer's.
  FrameReader(const std::byte* data, const ChannelHeader& header, ChannelWords& own)
      : data_(data),
        own_(&own),
        capacity_(header.capacity),
        message_bytes_max_(header.message_bytes_max),
        payload_offset_(header.payload_offset),
        short_bytes_max_(kFrameAlign - header.payload_offset) {}

  ChannelPosition position() const { return position_; }
  std::uint64_t messages() const { return messages_; }
  std::uint32_t message_bytes_max() const { return message_bytes_max_; }

  // The message at `from`, which is position() or the end of a message found there before.
  [[gnu::always_inline]] Look look(ChannelPosition from, Message& message) const {
    const std::byte* frame = data_ + (from & (capacity_ - 1));
    if (load_frame_stamp(frame) != frame_stamp(from)) return Look::kEmpty;  // D1
    FrameSize fields = load_frame_size(frame);                              // D2
    if (fields.size > message_bytes_max_) [[unlikely]] {
      from = behind_padding(from, fields.size);
      frame = data_;
      fields = load_frame_size(frame);
      if (from == kNowhere || fields.size > message_bytes_max_) return Look::kCorrupt;
    }
    std::uint64_t bytes = kFrameAlign;
    if (fields.size > short_bytes_max_) {  // a line never crosses the end
      bytes = message_frame_bytes(fields.size, payload_offset_);
      if ((from & (capacity_ - 1)) + bytes > capacity_) [[unlikely]]
        return Look::kCorrupt;
    }
    message.payload = {frame + payload_offset_, fields.size};
    message.type = fields.type;
    message.end = from + bytes;
    // More than the ring holds cannot be there: a producer that writes over what is not released.
    return message.end - position_ <= capacity_ ? Look::kMessage : Look::kCorrupt;
  }

  // Where the CallHead of a message stands, in a duplex: the producer's memory, as is the payload.
  const std::byte* call_head(const Message& message) const {
    return message.payload.data() - payload_offset_ + sizeof(MessageHead);
  }

  // Gives everything up to `end`, `count` messages, back to the producer.
  [[gnu::always_inline]] void release(ChannelPosition end, std::uint64_t count) {
    position_ = end;
    messages_ += count;
    store_received(*own_, position_, messages_);  // D3
  }

 private:
  static constexpr ChannelPosition kNowhere = 0;  // nothing is behind padding there

  // The frame at `from` is no message: if it is padding, where the message is that must be behind
  // it; if not, kNowhere.
  [[gnu::noinline]] ChannelPosition behind_padding(ChannelPosition from, std::uint32_t size) const {
    if (size != kPaddingSize || (from & (capacity_ - 1)) == 0) return kNowhere;
    const ChannelPosition next = (from | (capacity_ - 1)) + 1;
    return load_frame_stamp(data_) == frame_stamp(next) ? next : kNowhere;  // it is stamped first
  }

  const std::byte* data_ = nullptr;
  ChannelWords* own_ = nullptr;
  std::uint64_t capacity_ = 0;
  std::uint32_t message_bytes_max_ = 0;
  std::uint32_t payload_offset_ = 0;
  std::uint32_t short_bytes_max_ = 0;  // payload of a frame of one line
  ChannelPosition position_ = 0;       // of the first frame that is not released
  std::uint64_t messages_ = 0;         // released
};

}  // namespace lapwing
