#include "lapwing/detail/channel_end.h"

#include "absl/strings/str_cat.h"
#include "channel/side.h"
#include "lapwing/error.h"

namespace lapwing {

ChannelSide& ChannelEnd::side() {
  return static_cast<ChannelSide&>(*side_);
}
const ChannelSide& ChannelEnd::side() const {
  return static_cast<const ChannelSide&>(*side_);
}

void ChannelEnd::interrupt() noexcept {
  if (side_ != nullptr) side().interrupt();
}

int ChannelEnd::fd() const {
  return side_ == nullptr ? -1 : side().fd();
}

const absl::Status& ChannelEnd::status() const {
  static const absl::Status moved_from = make_error(
      Errc::kClosed, "this end of a channel was moved from; use the object that it was moved to");
  return side_ == nullptr ? moved_from : side().status();
}

ChannelCounters ChannelEnd::counters() const {
  return side_ == nullptr ? ChannelCounters() : side().counters();
}

Id128 ChannelEnd::connection_id() const {
  return side_ == nullptr ? Id128() : side().own().header().connection_id;
}

FrameWriter ChannelEnd::make_writer() {
  const OwnMemory& own = side().own();
  return {own.data(), own.header(), own.words(), side().peer().words()};
}

FrameReader ChannelEnd::make_reader() {
  const PeerMemory& peer = side().peer();
  return {peer.data(), peer.header(), side().own().words()};
}

Errc ChannelEnd::too_large(std::size_t size, std::uint32_t message_bytes_max) {
  return side().misuse(make_error(
      Errc::kInvalidArgument,
      absl::StrCat("a message of ", size, " bytes is too long: this channel takes up to ",
                   message_bytes_max, ". Open it with a larger message_bytes_max")));
}

}  // namespace lapwing
