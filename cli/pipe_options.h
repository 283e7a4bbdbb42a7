// What `lapwing pipe` was asked to do, and what it has done so far.
//
// Thread safety: plain values.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "cli/channel_options.h"
#include "lapwing/channel.h"
#include "lapwing/error.h"

namespace lapwing::cli {

struct PipeOptions {
  ChannelPlace place;
  ChannelChoice channel;
  bool send = false;
  bool receive = false;
  std::string messages = "raw";
  std::uint32_t type = 0;
  bool show_types = false;
  bool shapes_messages = false;  // sizes or type were given: the sender's to say
  bool summary = false;

  bool sends() const { return send || (!receive && !place.listens()); }
  bool by_line() const { return messages == "lines"; }
};

struct PipeTally {
  std::uint64_t peers = 0;
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;   // of messages
  std::uint64_t lost = 0;    // sent, and not taken by a peer that has gone
  ChannelCounters counters;  // of all peers together

  void add(const ChannelCounters& of_one) {
    counters.full_waits += of_one.full_waits;
    counters.empty_waits += of_one.empty_waits;
    counters.sleeps += of_one.sleeps;
    counters.wakes += of_one.wakes;
  }
};

// Ends of a pipe that are the other side's doing: with --keep the next peer is served.
inline bool is_end_of_peer(const absl::Status& status) {
  return errc_of(status) == Errc::kPeerGone || errc_of(status) == Errc::kCorrupt;
}

}  // namespace lapwing::cli
