// The options, counters and two sides of `lapwing pipe`.
//
// Thread safety: one thread. A side borrows all its arguments.
#pragma once

#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "cli/channel_options.h"
#include "cli/channel_wait.h"
#include "cli/line_reader.h"
#include "cli/message_writer.h"
#include "lapwing/channel.h"
#include "lapwing/consumer.h"
#include "lapwing/error.h"
#include "lapwing/producer.h"

namespace lapwing::cli {

struct PipeOptions {
  ChannelPlace place;
  ChannelChoice channel;
  bool send = false;
  bool receive = false;
  std::string messages = "raw";
  std::uint32_t type = 0;
  bool show_types = false;
  bool shapes_messages = false;  // sizes or a type were given; only senders may choose them
  bool summary = false;

  bool sends() const { return send || (!receive && !place.listens()); }
  bool by_line() const { return messages == "lines"; }
};

struct PipeTally {
  std::uint64_t peers = 0;
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;   // payload bytes
  std::uint64_t lost = 0;    // messages sent, but not taken before the peer ended
  ChannelCounters counters;  // for all peers together

  void add(const ChannelCounters& of_one) {
    counters.full_waits += of_one.full_waits;
    counters.empty_waits += of_one.empty_waits;
    counters.sleeps += of_one.sleeps;
    counters.wakes += of_one.wakes;
  }
};

// True for errors caused by the peer. With --keep, the next peer is served.
inline bool is_end_of_peer(const absl::Status& status) {
  return errc_of(status) == Errc::kPeerGone || errc_of(status) == Errc::kCorrupt;
}

// Writes a channel's messages to standard output.
//
// Messages are written from the sender's memory and released afterwards. So every message that the
// sender counts as taken has been written to standard output.
class PipeReceiver {
 public:
  PipeReceiver(const PipeOptions& options, PipeTally& tally)
      : options_(options),
        tally_(tally),
        writer_(STDOUT_FILENO, options.by_line(), options.show_types) {}

  // Receives from this peer until it closes or a stop is requested. Errors: kPeerGone (it ended
  // without closing), kCorrupt, and errors of standard output.
  absl::Status run(ChannelConsumer& consumer, ChannelWait& wait);

 private:
  absl::Status receive_all();
  Result<std::size_t> next_batch();
  absl::Status write(std::size_t count);
  absl::Status ended(Errc result);

  const PipeOptions& options_;
  PipeTally& tally_;
  MessageWriter writer_;
  ChannelConsumer* consumer_ = nullptr;
  ChannelWait* wait_ = nullptr;
  bool output_closed_ = false;
  std::uint64_t received_ = 0;  // messages, from this peer
  std::array<Message, kMessagesPerWrite> batch_;
};

// Sends standard input to a channel.
//
// Input is committed before each wait, so no message is held back while the input is idle. The
// sender ends only when the other side has taken everything.
class PipeSender {
 public:
  PipeSender(const PipeOptions& options, PipeTally& tally) : options_(options), tally_(tally) {}

  // Sends to this peer until the input has ended and all of it is taken, or a stop is requested.
  // If the peer ends, the error is kPeerGone or kCorrupt, and unsent input is kept for the next
  // peer. Errors: kLimit (a line is longer than the largest message), kSystem (standard input).
  absl::Status run(ChannelProducer& producer, ChannelWait& wait);

  // True if there is nothing more to send.
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
  bool at_end_ = false;     // the input has ended
  std::uint64_t sent_ = 0;  // messages, to this peer
};

}  // namespace lapwing::cli
