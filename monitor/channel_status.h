// Finds the channels of this machine and says where they stand, for people and monitoring.
//
// A channel leaves nothing in a file system; but each side keeps its sealed memory file open, and
// /proc shows it. So whoever may look at a process (its own user, or root) can find and read them.
// Nothing is connected to, mapped or written: it works on processes that are stopped, and none
// notices.
//
// The files are of anyone's making: headers are checked as a peer's are, and the words are numbers
// without meaning beyond what their owner says. They are read by pread, one side after the other,
// while both go on: differences between the sides are of no exact moment, and may be off by what
// was under way.
//
// Thread safety: a free function. Errors: see take_channel_census.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lapwing/detail/channel_layout.h"
#include "lapwing/sequence.h"

namespace lapwing {

inline constexpr std::size_t kCensusSidesMax = 16'384;  // of channels; what is beyond is left out

// One side of a channel.
struct ChannelSide {
  pid_t pid = 0;         // that has the file; header.pid is what that process says
  bool stopped = false;  // by a signal or a debugger
  std::string path;      // of the socket: header.path, from the process's directory on
  ChannelHeader header{};
  ChannelWords words{};

  bool sleeps() const { return words.ticket.value % 2 != 0; }  // or is about to
};

struct CensusChannel {
  Id128 session_id;
  // The one that listened first. One only if the other is gone, or is not to be looked at; more if
  // somebody lies.
  std::vector<ChannelSide> sides;
};

struct ChannelCensus {
  std::vector<CensusChannel> channels;      // by path, then session
  std::size_t processes_not_looked_at = 0;  // another user's, or protected
  bool is_complete = true;                  // false: kCensusSidesMax was reached
};

// Errors: kNotFound, kNotPermitted, kSystem: /proc is not to be read.
absl::StatusOr<ChannelCensus> take_channel_census();

// What `sender` has committed and `receiver` has not released. 0 rather than less.
struct ChannelBacklog {
  std::uint64_t messages;
  std::uint64_t bytes;  // of frames
};
ChannelBacklog backlog_of(const ChannelSide& sender, const ChannelSide& receiver);

}  // namespace lapwing
