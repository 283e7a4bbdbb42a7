#include "os/frame_socket.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/foreign_socket.h"

namespace lapwing {
namespace {

bool hung_up(int fd) {
  pollfd entry{fd, POLLRDHUP, 0};
  return poll(&entry, 1, 0) > 0 && (entry.revents & (POLLRDHUP | POLLHUP)) != 0;
}

// The result of recvmsg(), which returns 0 for both an empty packet and the end of the connection.
// With SO_PASSCRED, every packet has its sender's credentials, which are truncated here, and the
// end has none. Without it (on a client's socket), an empty packet is recognised only while the
// peer has not hung up.
struct Received {
  ssize_t size;
  bool is_end;
};

Received receive_packet(int fd, std::span<std::byte> bytes) {
  iovec part{bytes.data(), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  // MSG_TRUNC returns the packet's true size, even if it is larger than any frame.
  const ssize_t size = recvmsg(fd, &message, MSG_DONTWAIT | MSG_TRUNC);
  const bool has_credentials = (message.msg_flags & MSG_CTRUNC) != 0;
  return {size, size == 0 && !has_credentials && hung_up(fd)};
}

}  // namespace

absl::StatusOr<FrameType> check_frame(const Packet& packet, FrameLengths length_of) {
  if (packet.size < sizeof(FrameHeader)) {
    return make_error(Errc::kProtocol,
                      absl::StrCat("a packet of ", packet.size, " bytes is shorter than a frame's ",
                                   sizeof(FrameHeader), "-byte header"));
  }
  if (packet.size > sizeof packet.bytes) {
    return make_error(Errc::kProtocol,
                      absl::StrCat("a packet of ", packet.size, " bytes is longer than any frame"));
  }
  const FrameHeader header = packet.as<FrameHeader>();
  if (header.magic != kFrameMagic || header.version != kFrameVersion) {
    return make_error(
        Errc::kProtocol,
        absl::StrCat("a packet does not start like a frame of version ", kFrameVersion, ": magic ",
                     absl::Hex(header.magic), ", version ", header.version));
  }
  const FrameLength length = length_of(header.type);
  if (packet.size < length.min || packet.size > length.max || header.length != packet.size) {
    return make_error(Errc::kProtocol,
                      absl::StrCat("a frame of type ", static_cast<int>(header.type), " has ",
                                   packet.size, " bytes and a length field of ", header.length,
                                   "; valid lengths are ", length.min, " to ", length.max));
  }
  return header.type;
}

SendOutcome send_frame(int fd, std::span<const std::byte> frame) {
  for (;;) {
    if (send(fd, frame.data(), frame.size(), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) {
      return SendOutcome::kSent;  // a packet is sent whole or not at all
    }
    if (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM) return SendOutcome::kWouldBlock;
    if (errno != EINTR) return SendOutcome::kClosed;
  }
}

ReceiveOutcome receive_frame(int fd, Packet& packet, FrameLengths length_of) {
  bool reset_seen = false;
  for (;;) {
    // Receiving such a packet would close its descriptors in this thread (os/foreign_socket.h).
    if (!kernel_refuses_descriptors() && carries_descriptors(fd)) return ReceiveOutcome::kViolation;
    const auto [got, is_end] = receive_packet(fd, packet.bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return ReceiveOutcome::kWouldBlock;
    // A peer that closes before it has read everything resets the connection. The kernel reports
    // this once, before it returns frames that the peer had still sent, such as a Refused.
    if (got < 0 && errno == ECONNRESET && !std::exchange(reset_seen, true)) continue;
    if (got < 0) return ReceiveOutcome::kClosed;
    if (is_end) return ReceiveOutcome::kClosed;
    packet.size = static_cast<std::size_t>(got);
    return check_frame(packet, length_of).ok() ? ReceiveOutcome::kFrame
                                               : ReceiveOutcome::kViolation;
  }
}

}  // namespace lapwing
