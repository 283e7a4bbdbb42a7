// Waits for whatever may concern an end of a channel at once: its socket, standard input or output,
// a request to stop, and a successor that wants the listening socket.
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

inline constexpr std::uint64_t kSpinNs = 50'000;           // about what a sleep and a wake-up cost
inline constexpr std::uint64_t kBusyTurnNs = 100'000'000;  // of --wait busy, between looks around

// What look() finds, after one wait at most, in the way of --wait: block(deadline) is the channel's
// own wait, rest() is ChannelWait's. kWouldBlock: nothing, look around.
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
