// The common base of producer, consumer and duplex: one side of a channel. Not for users: the
// headers of these classes document the public functions.
//
// Thread safety: that of its side. All calls on an end that was moved from return kMisuse.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "lapwing/channel.h"
#include "lapwing/detail/channel_core.h"
#include "lapwing/detail/frame_reader.h"
#include "lapwing/detail/frame_writer.h"
#include "lapwing/sequence.h"

namespace lapwing {

class ChannelSide;

class ChannelEnd {
 public:
  int fd() const;
  const absl::Status& status() const;
  ChannelCounters counters() const;
  Id128 connection_id() const;
  void interrupt() noexcept;

 protected:
  explicit ChannelEnd(ChannelHandle side) : side_(std::move(side)) { hold(); }
  ChannelEnd(ChannelEnd&& other) noexcept : side_(std::move(other.side_)) { hold(); }
  ChannelEnd& operator=(ChannelEnd&& other) noexcept {
    side_ = std::move(other.side_);
    hold();
    return *this;
  }
  ~ChannelEnd() = default;

  // The first step of every operation: kOk, or the error that the operation returns.
  [[gnu::always_inline]] Errc enter() {
    if (side_ == nullptr) [[unlikely]]
      return Errc::kMisuse;
    return side_->enter();
  }
  // The same for reads, which remain possible after the peer has ended.
  [[gnu::always_inline]] Errc enter_to_read() {
    const Errc entered = enter();
    const bool readable = entered == Errc::kClosed || entered == Errc::kPeerGone;
    return readable ? Errc::kOk : entered;
  }

  // Returns whether an operation that completes an earlier one may continue. If not, enter()
  // returns the error.
  bool is_open() const { return side_ != nullptr && side_->end() == Errc::kOk; }

  ChannelCore& core() { return *side_; }
  ChannelSide& side();  // channel/side.h
  bool has_side() const { return side_ != nullptr; }
  ChannelWords& words() { return side_->own_words(); }

  // The two directions of the channel.
  FrameWriter make_writer();
  FrameReader make_reader();

  // Returns the error for a message that is too large, for a producer or a duplex.
  Errc too_large(std::size_t size, std::uint32_t message_bytes_max);

 private:
  // A wait set refers to the side, whose address does not change, and through it to this object.
  void hold() {
    if (side_ != nullptr) side_->held_by(this);
  }
  const ChannelSide& side() const;
  ChannelHandle side_;  // null: this end was moved from
};

}  // namespace lapwing
