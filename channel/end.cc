#include "channel/end.h"

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"

namespace lapwing {

int ChannelEnd::fd() const {
  return session_ == nullptr ? -1 : session_->fd();
}

const absl::Status& ChannelEnd::status() const {
  static const absl::Status moved_from = make_error(
      Errc::kClosed, "this end of a channel was moved from; use the object that it went to");
  return session_ == nullptr ? moved_from : session_->status();
}

ChannelCounters ChannelEnd::counters() const {
  return session_ == nullptr ? ChannelCounters() : session_->counters();
}

Id128 ChannelEnd::session_id() const {
  return session_ == nullptr ? Id128() : session_->own().header().session_id;
}

FrameWriter ChannelEnd::make_writer() {
  const OwnMemory& own = session_->own();
  return {own.data(), own.header(), own.words(), session_->peer().words()};
}

FrameReader ChannelEnd::make_reader() {
  const PeerMemory& peer = session_->peer();
  return {peer.data(), peer.header(), session_->own().words()};
}

ChannelResult ChannelEnd::too_large(std::size_t size, std::uint32_t message_bytes_max) {
  return session_->misuse(
      make_error(Errc::kInvalidArgument,
                 absl::StrCat("a message of ", size, " bytes; this channel takes up to ",
                              message_bytes_max, "; open it with a larger message_bytes_max")));
}

ChannelResult ChannelEnd::released_too_much(const FrameWriter& writer) {
  return session_->corrupt(absl::StrCat("it says that it has released bytes up to ",
                                        writer.received(), ", which cannot be: it was sent up to ",
                                        writer.position()));
}

}  // namespace lapwing
