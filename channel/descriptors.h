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

// What a packet may carry.
enum class Carried {
  kMemoryFile,  // at most one descriptor, from a peer that may be hostile
  kSockets,     // up to kDescriptorsMax, from a process of the same user or of root
};

// Receives one packet with its descriptors, close-on-exec. The caller checks how many there are. A
// descriptor that should be a memory file and is not one is closed apart (os/foreign_socket.h), and
// its place in `descriptors` holds an invalid one.
// kViolation: the packet is not a frame of a channel, or carries too many descriptors. Received
// descriptors are closed. A packet with more than one where kMemoryFile allows one is not received.
ReceiveOutcome receive_with_descriptors(int fd, Packet& packet, std::vector<UniqueFd>& descriptors,
                                        Carried carried = Carried::kMemoryFile);

// The same, waiting for it until deadline_ns (CLOCK_MONOTONIC). kWouldBlock: none has come by then.
ReceiveOutcome await_with_descriptors(int fd, Packet& packet, std::vector<UniqueFd>& descriptors,
                                      std::uint64_t deadline_ns,
                                      Carried carried = Carried::kMemoryFile);

}  // namespace lapwing
