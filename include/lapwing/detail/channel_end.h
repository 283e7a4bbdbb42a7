// What producer, consumer and duplex have in common: one side of a channel. Not for users: their
// own headers say what each public function does.
//
// Thread safety: as its side. An end that was moved from answers kMisuse to everything.
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

  // The first step of every operation: kOk, or why there is nothing to be done.
  [[gnu::always_inline]] Errc enter() {
    if (side_ == nullptr) [[unlikely]]
      return Errc::kMisuse;
    return side_->enter();
  }
  // The same where a peer that has ended is no reason not to read what it had sent.
  [[gnu::always_inline]] Errc enter_to_read() {
    const Errc entered = enter();
    const bool readable = entered == Errc::kClosed || entered == Errc::kPeerGone;
    return readable ? Errc::kOk : entered;
  }

  // What an operation that completes another one asks: where it is not, enter() says why.
  bool is_open() const { return side_ != nullptr && side_->end() == Errc::kOk; }

  ChannelCore& core() { return *side_; }
  ChannelSide& side();  // channel/side.h
  bool has_side() const { return side_ != nullptr; }
  ChannelWords& words() { return side_->own_words(); }

  // The two directions of the channel.
  FrameWriter make_writer();
  FrameReader make_reader();

  // What both kinds of sender answer to a message above the maximum.
  Errc too_large(std::size_t size, std::uint32_t message_bytes_max);

 private:
  // A wait set knows the side, which stays where it is, and by it the object.
  void hold() {
    if (side_ != nullptr) side_->held_by(this);
  }
  const ChannelSide& side() const;
  ChannelHandle side_;  // null: moved from
};

}  // namespace lapwing
