#include "channel/descriptors.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "os/foreign_socket.h"
#include "os/fork.h"
#include "os/kernel.h"
#include "proto/channel_frames.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kDescriptorsWaitNsMax = 1'000'000'000;  // the limit of every wait

// Room for the control data of kDescriptorsMax descriptors, aligned as the kernel requires.
struct alignas(cmsghdr) ControlData {
  std::byte bytes[CMSG_SPACE(kDescriptorsMax * sizeof(int))];
};

msghdr message_over(iovec& part, ControlData& control, std::size_t control_bytes) {
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control_bytes == 0 ? nullptr : control.bytes;
  message.msg_controllen = control_bytes;
  return message;
}

// Takes ownership of every received descriptor, even of unwanted ones.
void take_descriptors(msghdr& message, std::vector<UniqueFd>& descriptors) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(part) + i * sizeof(int), sizeof descriptor);
      descriptors.emplace_back(descriptor);
    }
  }
}

// Closes everything but memory files in another thread.
void close_all_but_memory(std::vector<UniqueFd>& descriptors) {
  for (UniqueFd& descriptor : descriptors) {
    if (descriptor.valid() && !closes_at_once(descriptor.get())) {
      close_apart(std::exchange(descriptor, UniqueFd()));
    }
  }
}

// Whether the next packet, not received yet, carries more than one descriptor. Receiving it
// with room for only one would close the others in this thread. Receiving it with room for all
// could use up the descriptors of this process.
bool carries_several(int fd) {
  std::byte byte;
  iovec part{&byte, sizeof byte};
  ControlData control{};
  msghdr message = message_over(part, control, CMSG_SPACE(sizeof(int)));
  std::vector<UniqueFd> copies;
  const ForkHold hold;
  if (recvmsg(fd, &message, MSG_PEEK | MSG_DONTWAIT | MSG_CMSG_CLOEXEC) < 0) return false;
  take_descriptors(message, copies);
  close_all_but_memory(copies);
  return (message.msg_flags & MSG_CTRUNC) != 0 || copies.size() > 1;
}

}  // namespace

SendOutcome send_with_descriptors(int fd, std::span<const std::byte> frame,
                                  std::span<const int> descriptors) {
  iovec part{const_cast<std::byte*>(frame.data()), frame.size()};
  ControlData control{};
  const std::size_t bytes = descriptors.size_bytes();
  msghdr message = message_over(part, control, CMSG_SPACE(bytes));
  cmsghdr* const rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(bytes);
  std::ranges::copy(std::as_bytes(descriptors), reinterpret_cast<std::byte*>(CMSG_DATA(rights)));
  for (;;) {
    if (sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return SendOutcome::kSent;
    if (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM) return SendOutcome::kWouldBlock;
    if (errno != EINTR) return SendOutcome::kClosed;
  }
}

ReceiveOutcome receive_with_descriptors(int fd, Packet& packet, std::vector<UniqueFd>& descriptors,
                                        Carried carried) {
  descriptors.clear();
  const bool may_be_hostile = carried == Carried::kMemoryFile;
  if (may_be_hostile && carries_descriptors(fd) && carries_several(fd)) {
    return ReceiveOutcome::kViolation;
  }
  iovec part{packet.bytes, sizeof packet.bytes};
  ControlData control{};
  msghdr message = message_over(part, control, sizeof control.bytes);
  const ForkHold hold;  // until the received descriptors have an owner
  ssize_t got = 0;
  bool reset_seen = false;
  do {
    got = recvmsg(fd, &message, MSG_DONTWAIT | MSG_TRUNC | MSG_CMSG_CLOEXEC);
    // The kernel reports once that the peer closed without reading everything, before it returns
    // the data that the peer had sent.
  } while (got < 0 &&
           (errno == EINTR || (errno == ECONNRESET && !std::exchange(reset_seen, true))));
  if (got < 0 && errno == EAGAIN) return ReceiveOutcome::kWouldBlock;
  if (got < 0) return ReceiveOutcome::kClosed;
  take_descriptors(message, descriptors);  // even from an empty packet, which looks like the end
  if (may_be_hostile) close_all_but_memory(descriptors);
  packet.size = static_cast<std::size_t>(got);
  const bool whole = packet.size <= sizeof packet.bytes && (message.msg_flags & MSG_CTRUNC) == 0;
  if (whole && check_frame(packet, channel_frame_length).ok()) return ReceiveOutcome::kFrame;
  descriptors.clear();
  return got == 0 ? ReceiveOutcome::kClosed : ReceiveOutcome::kViolation;
}

ReceiveOutcome await_with_descriptors(int fd, Packet& packet, std::vector<UniqueFd>& descriptors,
                                      std::uint64_t deadline_ns, Carried carried) {
  for (;;) {
    const ReceiveOutcome outcome = receive_with_descriptors(fd, packet, descriptors, carried);
    const std::uint64_t now = monotonic_ns();
    if (outcome != ReceiveOutcome::kWouldBlock || now >= deadline_ns) return outcome;
    wait_readable(fd, std::min(deadline_ns - now, kDescriptorsWaitNsMax));
  }
}

}  // namespace lapwing
