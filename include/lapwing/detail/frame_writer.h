// Writes messages into one direction of a channel: the producer's half of the frame protocol
// (lapwing/detail/channel_words.h), without sockets and without waiting.
//
// Thread safety: one thread. Owns nothing: the memory outlives it.
//
// Invariants
//  1. visible_ <= position_ <= received_ + capacity. What lies from visible_ on is staged: written,
//     and hidden from the consumer by the one stamp that is missing, that at visible_.
//  2. Where the consumer looks next, no stamp stands that it would take for a frame's.
//  3. A claim alone moves nothing: an abort leaves no trace but garbage where nobody looks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "lapwing/detail/channel_layout.h"
#include "lapwing/detail/channel_words.h"

namespace lapwing {

class FrameWriter {
 public:
  enum class Room {
    kYes,
    kFull,     // until the consumer has released more
    kCorrupt,  // the consumer's position is none that it can have
  };

  FrameWriter() = default;
  // `header` is the owner's: capacity, largest message, payload offset.
  FrameWriter(std::byte* data, const ChannelHeader& header, ChannelWords& own,
              const ChannelWords& peer)
      : data_(data),
        own_(&own),
        peer_(&peer),
        capacity_(header.capacity),
        message_bytes_max_(header.message_bytes_max),
        payload_offset_(header.payload_offset),
        limit_(header.capacity) {}

  std::uint32_t message_bytes_max() const { return message_bytes_max_; }
  bool has_claim() const { return claimed_; }
  std::uint32_t claim_bytes() const { return claim_bytes_; }
  bool has_staged() const { return visible_ != position_; }
  ChannelPosition position() const { return position_; }
  std::uint64_t messages() const { return messages_; }

  // Room for a message of `size` bytes, at most message_bytes_max(). Claiming again moves the
  // claim.
  [[gnu::always_inline]] Room claim(std::uint32_t size) {
    const std::uint64_t bytes = message_frame_bytes(size, payload_offset_);
    const std::uint64_t to_end = capacity_ - (position_ & (capacity_ - 1));
    const ChannelPosition at = bytes <= to_end ? position_ : position_ + to_end;
    if (at + bytes > limit_) [[unlikely]] {
      const Room room = look_for_room(at + bytes);
      if (room != Room::kYes) return room;
    }
    claim_at_ = at;
    claim_bytes_ = size;
    claimed_ = true;
    return Room::kYes;
  }

  // What was claimed, to be written.
  std::span<std::byte> payload() const {
    return {frame_at(claim_at_) + payload_offset_, claim_bytes_};
  }
  // The 16 bytes behind the claimed frame's MessageHead, where a duplex has its CallHead.
  std::byte* call_head() const { return frame_at(claim_at_) + sizeof(MessageHead); }

  void abort() { claimed_ = false; }

  // Makes a message of the first `actual` bytes of the claim, at most claim_bytes(); it becomes
  // visible with the next publish().
  [[gnu::always_inline]] void stage(std::uint32_t actual, std::uint32_t type) {
    std::byte* frame = frame_at(claim_at_);
    const ChannelPosition end = claim_at_ + message_frame_bytes(actual, payload_offset_);
    store_frame_size(frame, {actual, type});    // C1
    clear_false_stamp(frame_at(end), end);      // C2
    if (claim_at_ != position_) [[unlikely]] {  // it wrapped: padding leads to it
      store_frame_stamp(frame, claim_at_);      // C3
      frame = frame_at(position_);
      store_frame_size(frame, {kPaddingSize, 0});
    }
    if (has_staged()) store_frame_stamp(frame, position_);  // C3; the first one's is held back
    position_ = end;
    ++messages_;
    claimed_ = false;
  }

  // Makes everything staged visible at once; something is staged.
  [[gnu::always_inline]] void publish() {
    store_frame_stamp(frame_at(visible_), visible_);  // C3
    visible_ = position_;
    store_sent(*own_, position_, messages_);
  }

  // kYes: the consumer has released everything that is visible.
  Room look_whether_drained() {
    const Room room = look_for_room(0);
    return room == Room::kYes && received_ != visible_ ? Room::kFull : room;
  }

  // The consumer's position, as last seen: what it said when it was found corrupt.
  ChannelPosition received() const { return received_; }

 private:
  std::byte* frame_at(ChannelPosition position) const {
    return data_ + (position & (capacity_ - 1));
  }

  [[gnu::noinline]] Room look_for_room(ChannelPosition end) {
    const ChannelPosition received = load_received(*peer_);  // C0
    const bool possible =
        received >= received_ && received <= visible_ && received % kFrameAlign == 0;
    received_ = received;
    if (!possible) return Room::kCorrupt;
    limit_ = received + capacity_;
    return end <= limit_ ? Room::kYes : Room::kFull;
  }

  std::byte* data_ = nullptr;
  ChannelWords* own_ = nullptr;
  const ChannelWords* peer_ = nullptr;
  std::uint64_t capacity_ = 0;
  std::uint32_t message_bytes_max_ = 0;
  std::uint32_t payload_offset_ = 0;

  ChannelPosition position_ = 0;  // of the next frame
  ChannelPosition visible_ = 0;   // of the first frame that is not visible
  ChannelPosition limit_ = 0;     // no frame ends beyond it; received_ + capacity_
  ChannelPosition received_ = 0;  // by the consumer, as last seen
  std::uint64_t messages_ = 0;    // staged or visible

  ChannelPosition claim_at_ = 0;
  std::uint32_t claim_bytes_ = 0;
  bool claimed_ = false;
};

}  // namespace lapwing
