// Waits for all events that concern one end of a channel: its socket, standard input or output, a
// stop request, and a successor that takes over the listening socket.
//
// Thread safety: one thread. Borrows the listener.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "lapwing/detail/atomic_word.h"
#include "lapwing/error.h"
#include "lapwing/listener.h"
#include "lapwing/waiting.h"
#include "os/kernel.h"

namespace lapwing::cli {

class ChannelWait {
 public:
  // `listener` is kept open and tended while a peer is served; null if it is not kept.
  explicit ChannelWait(ChannelListener* listener) : listener_(listener) {}

  struct Ready {
    bool channel = false;
    bool stream = false;
  };
  // Sleeps until a descriptor is ready or a stop is requested. `stream_fd` is -1 to
  // ignore standard input and output. `stream_events` is as for poll(); the end of
  // the stream is always reported.
  Ready wait(int channel_fd, int stream_fd, short stream_events);
  // Tends the listener without sleeping, for callers that wait in another way.
  void look();
  // The error if poll() fails, for example because a container forbids it; otherwise ok. Loops must
  // check it, because no descriptor becomes ready after an error.
  const absl::Status& status() const { return status_; }

 private:
  Ready poll_once(int channel_fd, int stream_fd, short stream_events, int timeout_ms);
  void tend();

  ChannelListener* listener_;
  absl::Status status_;
};

inline constexpr std::uint64_t kSpinNs = 50'000;           // about one sleep plus one wake-up
inline constexpr std::uint64_t kBusyTurnNs = 100'000'000;  // maximum blocking time for `busy`

// Returns the result of look() after at most one wait, as --wait requests: block(deadline) is the
// channel's own wait, rest() is ChannelWait's. kWouldBlock: nothing arrived, call again.
template <typename Look, typename Block, typename Rest>
auto look_or_wait(const std::string& how, const Look& look, const Block& block, const Rest& rest) {
  constexpr int kLooksPerClock = 32;
  auto seen = look();
  if (seen.error() != Errc::kWouldBlock) return seen;
  if (how == "busy") {
    seen = block(Deadline(std::chrono::nanoseconds(kBusyTurnNs)));
    if (seen.error() == Errc::kTimedOut) seen = Errc::kWouldBlock;
    return seen;
  }
  const std::uint64_t until_ns = how == "backoff" ? monotonic_ns() + kSpinNs : 0;
  for (int looks = 1; until_ns != 0; ++looks) {
    if (seen = look(); seen.error() != Errc::kWouldBlock) return seen;
    spin_pause();
    if (looks % kLooksPerClock == 0 && monotonic_ns() >= until_ns) break;
  }
  rest();
  return seen;
}

}  // namespace lapwing::cli
