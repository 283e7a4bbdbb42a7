// Writes messages into one direction of a channel: the producer's half of the frame protocol
// (lapwing/detail/channel_words.h), without sockets and without waiting.
//
// Thread safety: one thread. The memory is not its own, and outlives it.
//
// Invariants
//  1. visible_ <= position_ <= received_ + capacity. What lies from visible_ on is staged: written,
//     and hidden from the consumer by the one stamp that is missing, that at visible_.
//  2. Where the consumer looks next, no stamp stands that it would take for a frame's.
//  3. A claim alone moves nothing: an abort leaves no trace but garbage where nobody looks.
//
// A short message, whose frame is one cache line, is put together in a line of the writer's own and
// stored in one go: the consumer looks at the line in the ring all the while, and each word that is
// written there by itself may have to fetch it back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

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
        mask_(header.capacity - 1),
        message_bytes_max_(header.message_bytes_max),
        payload_offset_(header.payload_offset),
        short_bytes_max_(kFrameAlign - header.payload_offset),
        line_(std::make_unique<Line>()),
        limit_(header.capacity) {}

  std::uint32_t message_bytes_max() const { return message_bytes_max_; }
  bool has_claim() const { return claim_end_ != 0; }
  // Whether there is a claim of at least `bytes`.
  bool has_claim_of(std::size_t bytes) const { return bytes < claim_end_; }
  std::uint32_t claim_bytes() const { return claim_end_ == 0 ? 0 : claim_end_ - 1; }
  bool has_staged() const { return visible_ != position_; }
  ChannelPosition position() const { return position_; }
  std::uint64_t messages() const { return messages_; }

  // Room for a message of `size` bytes, at most message_bytes_max(). Claiming again moves the
  // claim.
  [[gnu::always_inline]] Room claim(std::uint32_t size) {
    ChannelPosition at = position_;
    std::uint64_t bytes = kFrameAlign;
    const bool is_short = size <= short_bytes_max_;
    if (!is_short) [[unlikely]] {
      bytes = message_frame_bytes(size, payload_offset_);
      const std::uint64_t to_end = mask_ + 1 - (at & mask_);
      if (bytes > to_end) at += to_end;
    }
    if (at + bytes > limit_) [[unlikely]] {
      const Room room = look_for_room(at + bytes);
      if (room != Room::kYes) return room;
    }
    claim_at_ = at;
    claim_end_ = size + 1;
    claim_ = line_->bytes;
    if (!is_short) [[unlikely]] {
      claim_ = frame_at(at);
      clean_ = kNowhere;  // what is written there may look like a stamp, be it aborted
    }
    return Room::kYes;
  }

  // Where short messages are put together.
  std::span<const std::byte> line() const { return line_->bytes; }
  // What was claimed, to be written.
  std::span<std::byte> payload() const { return {claim_ + payload_offset_, claim_bytes()}; }
  // The 16 bytes behind the claimed frame's MessageHead, where a duplex has its CallHead.
  std::byte* call_head() const { return claim_ + sizeof(MessageHead); }

  void abort() { claim_end_ = 0; }
  // Sets the claim aside, and takes it up again.
  std::uint32_t put_claim_aside() { return std::exchange(claim_end_, 0); }
  void take_claim_up(std::uint32_t aside) { claim_end_ = aside; }

  // Makes a message of the first `actual` bytes of the claim, at most claim_bytes(); it becomes
  // visible with the next publish().
  [[gnu::always_inline]] void stage(std::uint32_t actual, std::uint32_t type) {
    std::byte* frame = frame_at(claim_at_);
    const ChannelPosition end = fill(frame, {actual, type});
    if (claim_at_ != position_) [[unlikely]] {  // it wrapped: padding leads to it
      store_frame_stamp(frame, claim_at_);      // C3
      frame = frame_at(position_);
      store_frame_size(frame, {kPaddingSize, 0});
    }
    if (has_staged()) store_frame_stamp(frame, position_);  // C3; the first one's is held back
    position_ = end;
    ++messages_;
    claim_end_ = 0;
  }

  // Makes everything staged visible at once; something is staged.
  [[gnu::always_inline]] void publish() {
    store_frame_stamp(frame_at(visible_), visible_);  // C3
    made_visible(position_, messages_);
  }

  // stage() and publish().
  [[gnu::always_inline]] void commit(std::uint32_t actual, std::uint32_t type) {
    const ChannelPosition at = claim_at_;
    if (at != visible_) [[unlikely]] {  // something is staged, or padding leads to it
      stage(actual, type);
      return publish();
    }
    std::byte* const frame = frame_at(at);
    const std::uint64_t messages = messages_ + 1;
    const ChannelPosition end = fill(frame, {actual, type});
    store_frame_stamp(frame, at);  // C3
    position_ = end;
    messages_ = messages;
    claim_end_ = 0;
    made_visible(end, messages);
  }

  // kYes: the consumer has released everything that is visible.
  Room look_whether_drained() {
    const Room room = look_for_room(0);
    return room == Room::kYes && received_ != visible_ ? Room::kFull : room;
  }

  // The consumer's position, as last seen: what it said when it was found corrupt.
  ChannelPosition received() const { return received_; }

 private:
  struct alignas(kFrameAlign) Line {
    std::byte bytes[kFrameAlign] = {};
  };
  static constexpr ChannelPosition kNowhere = 0;  // no frame ends there

  std::byte* frame_at(ChannelPosition position) const { return data_ + (position & mask_); }

  // C1 and C2 of the claim, whose frame is to be `frame`. Where that ends.
  [[gnu::always_inline]] ChannelPosition fill(std::byte* frame, FrameSize fields) {
    std::byte* const data = data_;
    const std::uint64_t mask = mask_;
    const ChannelPosition clean = clean_;
    ChannelPosition end = claim_at_ + kFrameAlign;
    if (claim_ == line_->bytes) [[likely]] {
      store_short_payload(frame, claim_);
    } else {
      end = claim_at_ + message_frame_bytes(fields.size, payload_offset_);
    }
    store_frame_size(frame, fields);
    if (end != clean) clear_false_stamp(data + (end & mask), end);
    return end;
  }

  [[gnu::always_inline]] void made_visible(ChannelPosition end, std::uint64_t messages) {
    // C2 of the next frame, should it be short: now, when nobody waits for it.
    const ChannelPosition next_end = end + kFrameAlign;
    std::byte* const next = frame_at(next_end);
    // Where the consumer may still read a payload, or the user writes one into an open claim.
    const bool is_in_use = next_end > limit_ || has_claim();
    visible_ = end;
    clean_ = is_in_use ? kNowhere : next_end;
    store_sent(*own_, end, messages);
    if (!is_in_use) [[likely]]
      clear_false_stamp(next, next_end);
  }

  [[gnu::noinline]] Room look_for_room(ChannelPosition end) {
    const ChannelPosition received = load_received(*peer_);  // C0
    const bool possible =
        received >= received_ && received <= visible_ && received % kFrameAlign == 0;
    received_ = received;
    if (!possible) return Room::kCorrupt;
    limit_ = received + mask_ + 1;
    return end <= limit_ ? Room::kYes : Room::kFull;
  }

  std::byte* data_ = nullptr;
  ChannelWords* own_ = nullptr;
  const ChannelWords* peer_ = nullptr;
  std::uint64_t mask_ = 0;  // capacity - 1
  std::uint32_t message_bytes_max_ = 0;
  std::uint32_t payload_offset_ = 0;
  std::uint32_t short_bytes_max_ = 0;  // payload of a frame of one line
  std::unique_ptr<Line> line_;         // where it is though the writer moves: a claim points there

  ChannelPosition position_ = 0;  // of the next frame
  ChannelPosition visible_ = 0;   // of the first frame that is not visible
  ChannelPosition limit_ = 0;     // no frame ends beyond it; received_ + capacity
  ChannelPosition received_ = 0;  // by the consumer, as last seen
  std::uint64_t messages_ = 0;    // staged or visible

  ChannelPosition claim_at_ = 0;
  std::byte* claim_ = nullptr;        // its frame: in the ring, or *line_
  std::uint32_t claim_end_ = 0;       // bytes of the claim and one more; 0: there is none
  ChannelPosition clean_ = kNowhere;  // where C2 has been done for a frame that ends there
};

}  // namespace lapwing
