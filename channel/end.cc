#include "lapwing/detail/channel_end.h"

#include "absl/strings/str_cat.h"
#include "channel/session.h"
#include "lapwing/error.h"

namespace lapwing {

ChannelSession& ChannelEnd::session() {
  return static_cast<ChannelSession&>(*session_);
}
const ChannelSession& ChannelEnd::session() const {
  return static_cast<const ChannelSession&>(*session_);
}

void ChannelEnd::interrupt() noexcept {
  if (session_ != nullptr) session().interrupt();
}

int ChannelEnd::fd() const {
  return session_ == nullptr ? -1 : session().fd();
}

const absl::Status& ChannelEnd::status() const {
  static const absl::Status moved_from = make_error(
      Errc::kClosed, "this end of a channel was moved from; use the object that it went to");
  return session_ == nullptr ? moved_from : session().status();
}

ChannelCounters ChannelEnd::counters() const {
  return session_ == nullptr ? ChannelCounters() : session().counters();
}

Id128 ChannelEnd::session_id() const {
  return session_ == nullptr ? Id128() : session().own().header().session_id;
}

FrameWriter ChannelEnd::make_writer() {
  const OwnMemory& own = session().own();
  return {own.data(), own.header(), own.words(), session().peer().words()};
}

FrameReader ChannelEnd::make_reader() {
  const PeerMemory& peer = session().peer();
  return {peer.data(), peer.header(), session().own().words()};
}

Errc ChannelEnd::too_large(std::size_t size, std::uint32_t message_bytes_max) {
  return session().misuse(
      make_error(Errc::kInvalidArgument,
                 absl::StrCat("a message of ", size, " bytes; this channel takes up to ",
                              message_bytes_max, "; open it with a larger message_bytes_max")));
}

Errc ChannelEnd::released_too_much(const FrameWriter& writer) {
  return session().corrupt(absl::StrCat("it says that it has released bytes up to ",
                                        writer.received(), ", which cannot be: it was sent up to ",
                                        writer.position()));
}

}  // namespace lapwing
