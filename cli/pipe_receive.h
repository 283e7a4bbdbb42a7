// The receiving side of `lapwing pipe`: a channel onto standard output.
//
// Messages are written from the sender's memory and given back once they are written, so whatever
// the sender is told was taken is in standard output.
//
// Thread safety: one thread. Borrows all it is given.
#pragma once

#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "cli/channel_wait.h"
#include "cli/message_writer.h"
#include "cli/pipe_options.h"
#include "lapwing/consumer.h"

namespace lapwing::cli {

class PipeReceiver {
 public:
  PipeReceiver(const PipeOptions& options, PipeTally& tally)
      : options_(options),
        tally_(tally),
        writer_(STDOUT_FILENO, options.by_line(), options.show_types) {}

  // Receives from this peer until it closes, or a stop is requested. Errors: kPeerGone (it ended
  // without closing), kCorrupt, and those of standard output.
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

}  // namespace lapwing::cli
