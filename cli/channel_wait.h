// Waits for whatever may concern an end of a channel at once: its socket, standard input or output,
// a request to stop, and a successor that wants the listening socket.
//
// Thread safety: one thread. Borrows the listener.
#pragma once

#include "absl/status/status.h"
#include "lapwing/listener.h"

namespace lapwing::cli {

class ChannelWait {
 public:
  // `listener` is kept and tended while a peer is served; null if there is none to be kept.
  explicit ChannelWait(ChannelListener* listener) : listener_(listener) {}

  struct Ready {
    bool channel = false;
    bool stream = false;
  };
  // Sleeps until something is ready or a stop is requested. `stream_fd` -1: neither standard input
  // nor output matters; `stream_events` as of poll(), besides which its end always counts.
  Ready wait(int channel_fd, int stream_fd, short stream_events);
  // The same without sleeping: for who waits in another way.
  void look();
  // Why nothing can be waited for any more (a container may refuse poll); ok while it can. Whoever
  // waits in a loop asks: nothing would ever be ready.
  const absl::Status& status() const { return status_; }

 private:
  Ready poll_once(int channel_fd, int stream_fd, short stream_events, int timeout_ms);
  void tend();

  ChannelListener* listener_;
  absl::Status status_;
};

}  // namespace lapwing::cli
