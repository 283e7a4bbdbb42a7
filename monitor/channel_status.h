// Finds the channels on this machine and reads their state, for operators and monitoring.
//
// A channel leaves nothing in a file system, but each side keeps its sealed memory file open, and
// that file is visible in /proc. So any user who may inspect a process (its own user, or root) can
// find and read its channels. The search does not connect, map or write anything. So it also works
// on stopped processes, and disturbs none.
//
// Any process can create such files, so headers are checked as a peer's would be, and the counters
// are only reported. They are read with pread, one side after the other, while both keep running.
// Differences between the sides are therefore approximate.
//
// Thread safety: free functions. Errors: see gather_channel_status.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lapwing/detail/channel_layout.h"
#include "lapwing/sequence.h"

namespace lapwing {

inline constexpr std::size_t kChannelSidesMax = 16'384;  // further sides are left out

// One side of a channel.
struct ChannelSideStatus {
  pid_t pid = 0;                  // the process that has the file open
  std::uint32_t claimed_pid = 0;  // the pid in its header
  std::string name;
  ChannelRole role = ChannelRole::kProducer;
  ChannelState state = ChannelState::kOpen;  // set by the side, so it may be any number
  bool listens = false;                      // false: it connected
  bool stopped = false;                      // by a signal or a debugger
  bool parked = false;                       // sleeps, or is about to sleep
  std::uint32_t call_window = 0;             // unanswered calls that it accepts; 0 if not a duplex
  std::uint64_t full_waits = 0;              // times it waited for room
  std::uint64_t empty_waits = 0;             // times it waited for a message
  std::uint64_t sleeps = 0;
  std::uint64_t wakes = 0;  // times it woke the other side
};

struct MessageCount {
  std::uint64_t messages = 0;
  std::uint64_t frame_bytes = 0;
};

// The messages that one side sends to the other.
struct ChannelDirectionStatus {
  pid_t sender = 0;
  std::uint64_t capacity = 0;  // bytes of room
  std::uint32_t message_bytes_max = 0;
  bool aligned = false;  // payloads, to 64 bytes
  MessageCount sent;     // committed by the sender
  // nullopt, and the next two 0, if the other side is gone or may not be inspected.
  std::optional<pid_t> receiver;
  MessageCount received;   // released by the receiver
  MessageCount in_flight;  // sent and not received; never below 0
};

struct ChannelStatus {
  Id128 connection_id;
  std::string path;  // of the socket, absolute
  std::uint64_t age_ns = 0;
  // The side that listened comes first. There is one if the other is gone or may not be inspected,
  // and more than two if a process falsifies its header.
  std::vector<ChannelSideStatus> sides;
  std::vector<ChannelDirectionStatus> directions;  // for the sides that send, in that order
};

struct ChannelList {
  std::vector<ChannelStatus> channels;      // by path, then connection
  std::size_t processes_not_looked_at = 0;  // of another user, or protected
  bool is_complete = true;                  // false: kChannelSidesMax was reached
};

// Errors: kNotFound, kNotPermitted, kSystem: /proc cannot be read.
absl::StatusOr<ChannelList> gather_channel_status();

}  // namespace lapwing
