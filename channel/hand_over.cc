#include "channel/hand_over.h"

#include <sys/socket.h>

#include <span>

#include "absl/strings/str_cat.h"
#include "channel/descriptors.h"
#include "channel/handshake.h"
#include "lapwing/error.h"
#include "os/kernel.h"
#include "proto/channel_frames.h"

namespace lapwing {

std::string HandOver::name() const {
  return peer_text(static_cast<std::uint32_t>(peer_.pid), peer_.uid);
}

absl::Status HandOver::begin(int listening, const std::vector<int>& waiting) {
  Packet packet;
  std::vector<UniqueFd> descriptors;
  if (receive_with_descriptors(successor_.get(), packet, descriptors) != ReceiveOutcome::kFrame) {
    return make_error(Errc::kProtocol,
                      absl::StrCat(name(), " sent a packet that is not a channel frame"));
  }
  if (!is_expected_user(peer_.uid, std::nullopt)) {
    return make_error(Errc::kRefused,
                      "only a process of the same user, or of root, can take the socket over");
  }
  const std::uint32_t abi_version = packet.as<TakeOverFrame>().abi_version;
  if (abi_version != kChannelAbiVersion) {
    return make_error(Errc::kRefused, absl::StrCat("the socket cannot be taken over: ", name(),
                                                   " uses channel ABI version ", abi_version,
                                                   ", this process uses ", kChannelAbiVersion,
                                                   "; install the same release for both"));
  }
  std::vector<int> handed = {listening};
  handed.insert(handed.end(), waiting.begin(), waiting.end());
  auto frame = make_frame<HandedOverFrame>(FrameType::kHandedOver);
  frame.waiting = static_cast<std::uint32_t>(waiting.size());
  if (send_with_descriptors(successor_.get(), std::as_bytes(std::span(&frame, 1)), handed) ==
      SendOutcome::kSent) {
    return absl::OkStatus();
  }
  return make_error(Errc::kPeerGone,
                    absl::StrCat(name(), " disconnected before it received the socket"));
}

absl::StatusOr<bool> HandOver::look() {
  Packet packet;
  std::vector<UniqueFd> descriptors;
  switch (receive_with_descriptors(successor_.get(), packet, descriptors)) {
    case ReceiveOutcome::kWouldBlock:
      if (monotonic_ns() < deadline_ns_) return false;
      return last_look();
    case ReceiveOutcome::kClosed:
      return make_error(Errc::kPeerGone, absl::StrCat(name(), " disconnected during a take-over"));
    case ReceiveOutcome::kViolation:
      return make_error(Errc::kProtocol,
                        absl::StrCat(name(), " sent a packet that is not a channel frame"));
    case ReceiveOutcome::kFrame:
      break;
  }
  if (packet.as<FrameHeader>().type == FrameType::kTakenOver) return true;
  return make_error(Errc::kProtocol,
                    absl::StrCat(name(), " did not confirm that it received the socket"));
}

// After this shutdown, the successor can no longer confirm that it has the socket. So both sides
// never listen at the same time.
absl::StatusOr<bool> HandOver::last_look() {
  shutdown(successor_.get(), SHUT_RD);
  Packet packet;
  std::vector<UniqueFd> descriptors;
  const bool came =
      receive_with_descriptors(successor_.get(), packet, descriptors) == ReceiveOutcome::kFrame;
  if (came && packet.as<FrameHeader>().type == FrameType::kTakenOver) return true;
  return make_error(Errc::kTimedOut, absl::StrCat(name(), " did not answer in time"));
}

}  // namespace lapwing
