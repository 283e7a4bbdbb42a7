// The sending side of `lapwing pipe`: standard input into a channel.
//
// What was read is committed before anything is waited for, so nothing is stranded here while the
// input is silent; and the end comes only when the other side has taken everything.
//
// Thread safety: one thread. Borrows all it is given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "cli/channel_wait.h"
#include "cli/line_reader.h"
#include "cli/pipe_options.h"
#include "lapwing/producer.h"

namespace lapwing::cli {

class PipeSender {
 public:
  PipeSender(const PipeOptions& options, PipeTally& tally) : options_(options), tally_(tally) {}

  // Sends to this peer until the input has ended and everything was taken, or a stop is requested.
  // The peer's going is kPeerGone or kCorrupt: what was not yet sent is kept, for the next one.
  // Errors: kLimit (a line is longer than a message can be), kSystem (standard input).
  absl::Status run(ChannelProducer& producer, ChannelWait& wait);

  // Whether there is nothing more to send.
  bool is_done() const { return at_end_ && !has_line(); }
  std::size_t unsent_bytes() const { return lines_ ? lines_->unread() : 0; }

 private:
  absl::Status send_all();
  absl::Status send_raw();
  absl::Status send_lines();
  absl::Status send_read_lines();
  Result<std::span<std::byte>> await_room(std::size_t size);
  absl::Status await_input();
  absl::Status drain();
  absl::Status peer_ended();
  absl::Status too_long(const std::string& bytes) const;
  bool has_line() const { return lines_ && lines_->unread() > 0; }

  const PipeOptions& options_;
  PipeTally& tally_;
  ChannelProducer* producer_ = nullptr;
  ChannelWait* wait_ = nullptr;
  std::optional<LineReader> lines_;
  bool at_end_ = false;     // of the input
  std::uint64_t sent_ = 0;  // messages, to this peer
};

}  // namespace lapwing::cli
