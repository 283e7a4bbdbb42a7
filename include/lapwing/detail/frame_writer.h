// Writes messages into one direction of a channel: the producer's half of the frame protocol
// (lapwing/detail/channel_words.h), without sockets and without waiting.
//
// Thread safety: one thread. Does not own the memory, which must outlive it.
//
// Invariants
//  1. visible() <= position_ <= received_ + capacity. Frames from visible() are staged: they are
//     written, but hidden from the consumer, because the head at visible() is missing.
//  2. The word that the consumer loads next is not a valid head for that position.
//  3. A claim alone does not change any position. An abort leaves only garbage, which the consumer
//     never reads.
//
// A short message, whose frame is one cache line, is assembled in a private line and stored at
// once. The consumer constantly polls the line in the ring. If words were stored as they are
// assembled, each store might have to fetch the line back.
//
// The number of stores matters. If the consumer is close behind, its cache has every line that is
// written. The rate then depends on the number of lines in flight, which is limited by the number
// of stores that fit into the processor's queue (bench/LOG.md).
#pragma once

#include <algorithm>
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
    kFull,     // no room until the consumer has released more
    kCorrupt,  // the consumer's position is impossible
  };

  FrameWriter() = default;
  // `header` contains the owner's capacity, largest message and payload offset.
  FrameWriter(std::byte* data, const ChannelHeader& header, ChannelWords& own,
              const ChannelWords& peer)
      : data_(data),
        own_(&own),
        peer_(&peer),
        mask_(header.capacity - 1),
        message_bytes_max_(header.message_bytes_max),
        payload_offset_(header.payload_offset),
        heads_(header.capacity),
        line_bytes_max_(static_cast<std::uint32_t>(kFrameAlign) - header.payload_offset),
        short_bytes_max_(lapwing::short_bytes_max(header.payload_offset)),
        line_(std::make_unique<Line>()),
        limit_(header.capacity) {}

  std::uint32_t message_bytes_max() const { return message_bytes_max_; }
  bool has_claim() const { return claim_end_ != 0; }
  // Returns whether there is a claim of at least `bytes`.
  bool has_claim_of(std::size_t bytes) const { return bytes < claim_end_; }
  std::uint32_t claim_bytes() const { return claim_end_ == 0 ? 0 : claim_end_ - 1; }
  bool has_staged() const { return staged_bytes_ != 0; }
  // Position of the next frame.
  ChannelPosition position() const { return position_; }
  // Number of messages, staged or visible.
  std::uint64_t messages() const { return messages_; }

  // Claims room for a message of `size` bytes, at most message_bytes_max(). A new claim replaces
  // the previous one; if there is no room, the previous one remains.
  [[gnu::always_inline]] Room claim(std::uint32_t size) {
    ChannelPosition at = position_;
    std::uint64_t bytes = kFrameAlign;
    const bool is_short = size <= short_bytes_max_;
    if (!is_short) [[unlikely]] {
      bytes = long_frame_bytes(size, payload_offset_);
      const std::uint64_t to_end = mask_ + 1 - (at & mask_);
      if (bytes > to_end) at += to_end;
    }
    if (at + bytes > limit_) [[unlikely]] {
      const Room room = look_for_room(at + bytes);
      if (room != Room::kYes) return room;
    }
    if (!is_short) [[unlikely]] {
      long_claim_at_ = at;
      long_claim_ = frame_at(at);
      look_until_ = std::max(look_until_, at + bytes + mask_ + 1);
      prefetch_to_write(frame_at(at + kPrefetchBytes));
      prefetch_to_write(frame_at(at + kPrefetchBytes + kFrameAlign));
    } else if (long_claim_ != nullptr) [[unlikely]] {
      long_claim_ = nullptr;  // the long claim was aborted
    }
    claim_end_ = size + 1;
    return Room::kYes;
  }

  // The private line in which short messages are assembled.
  std::span<const std::byte> line() const { return line_->bytes; }
  // Returns the claimed memory, to be written.
  std::span<std::byte> payload() const {
    const bool is_packed = claim_kind() == FrameKind::kShortPacked;
    return {claim_frame() + (is_packed ? kPayloadOffsetShort : payload_offset_), claim_bytes()};
  }
  // Returns the address of a duplex's CallHead.
  std::byte* call_head() const { return claim_frame() + kCallHeadOffset; }

  void abort() { claim_end_ = 0; }
  // Suspend the claim, and resume it.
  std::uint32_t put_claim_aside() { return std::exchange(claim_end_, 0); }
  void take_claim_up(std::uint32_t aside) { claim_end_ = aside; }

  // Makes a message from the first `actual` bytes of the claim, at most claim_bytes(). The message
  // becomes visible with the next publish().
  [[gnu::always_inline]] void stage(std::uint32_t actual, std::uint32_t type) {
    const ChannelPosition from = position_;
    const ChannelPosition at = long_claim_ != nullptr ? long_claim_at_ : from;
    Finished frame = finish_frame(at, actual, type);
    if (at != from) [[unlikely]] {                 // it wrapped, so padding precedes it
      store_frame_head(frame_at(at), frame.head);  // C3
      frame.head = heads_.at(from, FrameKind::kPadding, 0, 0);
    }
    if (has_staged()) {
      store_frame_head(frame_at(from), frame.head);  // C3
    } else {
      first_head_ = frame.head;  // stored by publish()
    }
    position_ = frame.end;
    staged_bytes_ += frame.end - from;
    ++messages_;
    claim_end_ = 0;
  }

  // Makes everything staged visible at once. Precondition: has_staged().
  [[gnu::always_inline]] void publish() {
    const ChannelPosition from = visible();
    store_frame_head(frame_at(from), first_head_);  // C3
    staged_bytes_ = 0;
    store_sent(*own_, position_, messages_);
  }

  // Does stage() and publish().
  [[gnu::always_inline]] void commit(std::uint32_t actual, std::uint32_t type) {
    const ChannelPosition at = position_;
    const bool is_long = long_claim_ != nullptr;
    if (has_staged() || (is_long && long_claim_at_ != at)) [[unlikely]] {  // or it needs padding
      stage(actual, type);
      return publish();
    }
    const std::uint64_t messages = messages_ + 1;
    const Finished frame = finish_frame(at, actual, type);
    store_frame_head(frame_at(at), frame.head);  // C3
    position_ = frame.end;
    messages_ = messages;
    claim_end_ = 0;
    store_sent(*own_, frame.end, messages);
  }

  // Returns kYes if the consumer has released everything that is visible.
  Room look_whether_drained() {
    const Room room = look_for_room(0);
    return room == Room::kYes && received_ != visible() ? Room::kFull : room;
  }

  // Returns whether the consumer has released everything before `end`, the end of a sent message.
  // False if the consumer's position is impossible.
  bool has_released(ChannelPosition end) const {
    const ChannelPosition received = load_received(*peer_);  // C0
    return received >= end && received <= visible();
  }

  // Returns the consumer's last loaded position. After kCorrupt, it is the impossible one.
  ChannelPosition received() const { return received_; }

 private:
  // A long claim prefetches lines at this distance, so that C2 does not wait for them.
  static constexpr std::uint64_t kPrefetchBytes = 1024;

  struct alignas(kFrameAlign) Line {
    std::byte bytes[kFrameAlign] = {};
  };

  // Position of the first frame that is not visible.
  ChannelPosition visible() const { return position_ - staged_bytes_; }
  std::byte* claim_frame() const { return long_claim_ != nullptr ? long_claim_ : line_->bytes; }
  std::byte* frame_at(ChannelPosition position) const { return data_ + (position & mask_); }

  FrameKind claim_kind() const {
    if (long_claim_ != nullptr) [[unlikely]]
      return FrameKind::kLong;
    return claim_bytes() > line_bytes_max_ ? FrameKind::kShortPacked : FrameKind::kShort;
  }

  struct Finished {
    Word head;
    ChannelPosition end;
  };
  // C1 and C2 of the claim, whose frame is at `at`.
  [[gnu::always_inline]] Finished finish_frame(ChannelPosition at, std::uint32_t actual,
                                               std::uint32_t type) {
    const FrameKind kind = claim_kind();
    ChannelPosition end = at + kFrameAlign;
    if (kind != FrameKind::kLong) [[likely]] {
      store_short_payload(frame_at(at), line_->bytes, kind);
    } else {
      store_long_bytes(long_claim_, actual);
      long_claim_ = nullptr;
      end = at + long_frame_bytes(actual, payload_offset_);
    }
    if (end < look_until_) [[unlikely]]
      clear_false_head(frame_at(end), heads_, end);
    return {heads_.at(at, kind, kind == FrameKind::kLong ? 0 : actual, type), end};
  }

  [[gnu::noinline]] Room look_for_room(ChannelPosition end) {
    const ChannelPosition received = load_received(*peer_);  // C0
    const bool possible =
        received >= received_ && received <= visible() && received % kFrameAlign == 0;
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
  FrameHeads heads_;
  std::uint32_t line_bytes_max_ = 0;   // payload of a one-line frame, at payload_offset_
  std::uint32_t short_bytes_max_ = 0;  // the same; in a packed channel, at kPayloadOffsetShort
  std::unique_ptr<Line> line_;         // on the heap, so that claims stay valid if the writer moves

  ChannelPosition position_ = 0;    // next frame
  std::uint64_t staged_bytes_ = 0;  // bytes before it
  Word first_head_ = 0;             // head of the first staged frame
  std::uint64_t messages_ = 0;      // staged or visible
  ChannelPosition limit_ = 0;       // received_ + capacity; no frame ends beyond it
  ChannelPosition received_ = 0;    // the consumer's last loaded position

  ChannelPosition long_claim_at_ = 0;
  std::byte* long_claim_ = nullptr;  // its frame, in the ring; null: the claim is in *line_
  std::uint32_t claim_end_ = 0;      // bytes of the claim plus one; 0: there is none
  // C2 is needed before this position: one lap after the largest end of any long claim.
  ChannelPosition look_until_ = 0;
};

}  // namespace lapwing
