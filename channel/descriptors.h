// Frames that carry descriptors (SCM_RIGHTS) over a channel's socket.
//
// Thread safety: free functions over descriptors that the caller owns. They never block or raise
// SIGPIPE.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "os/frame_socket.h"
#include "os/unique_fd.h"

namespace lapwing {

// The maximum per packet: the listening socket and every waiting peer.
inline constexpr std::size_t kDescriptorsMax = 1 + 64;

// Sends one packet with the frame and the descriptors, which the caller still owns.
SendOutcome send_with_descriptors(int fd, std::span<const std::byte> frame,
                                  std::span<const int> descriptors);

// The descriptors that a packet may carry.
enum class Carried {
  kMemoryFile,  // at most one descriptor, from a peer that may be hostile
  kSockets,     // up to kDescriptorsMax, from a process of the same user or of root
};

// Receives one packet with its descriptors, close-on-exec. The caller checks their number. A
// descriptor that should be a memory file but is not is closed in another thread
// (os/foreign_socket.h), and `descriptors` has an invalid one in its position. kViolation: the
// packet is not a channel frame, or carries too many descriptors. Received descriptors are closed.
// If kMemoryFile allows one descriptor, a packet with more is not received.
ReceiveOutcome receive_with_descriptors(int fd, Packet& packet, std::vector<UniqueFd>& descriptors,
                                        Carried carried = Carried::kMemoryFile);

// Like receive_with_descriptors(), but waits until deadline_ns (CLOCK_MONOTONIC), and then returns
// kWouldBlock.
ReceiveOutcome await_with_descriptors(int fd, Packet& packet, std::vector<UniqueFd>& descriptors,
                                      std::uint64_t deadline_ns,
                                      Carried carried = Carried::kMemoryFile);

}  // namespace lapwing
