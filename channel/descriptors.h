// Frames that carry descriptors (SCM_RIGHTS) over a channel's socket.
//
// Thread safety: free functions over descriptors the caller owns. None blocks or raises SIGPIPE.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "os/frame_socket.h"
#include "os/unique_fd.h"

namespace lapwing {

// Most that one packet may carry: the listening socket and every waiting peer.
inline constexpr std::size_t kDescriptorsMax = 1 + 64;

// One packet with the frame and the descriptors, which stay the caller's.
SendOutcome send_with_descriptors(int fd, std::span<const std::byte> frame,
                                  std::span<const int> descriptors);

// One packet and what came with it, close-on-exec; the caller checks how many there are.
// kViolation: a packet that is no frame of a channel, or whose control data did not fit; whatever
// came with it is closed then.
ReceiveOutcome receive_with_descriptors(int fd, Packet& packet, std::vector<UniqueFd>& descriptors);

// The same, waiting for it until deadline_ns (CLOCK_MONOTONIC). kWouldBlock: none has come by then.
ReceiveOutcome await_with_descriptors(int fd, Packet& packet, std::vector<UniqueFd>& descriptors,
                                      std::uint64_t deadline_ns);

}  // namespace lapwing
