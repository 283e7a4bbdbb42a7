// A channel in an event loop, beside other descriptors: here a timer. While nothing happens, the
// process sleeps in poll() and uses no processor.
//
//   event_loop /tmp/lines.sock &
//   seq 100 | lapwing pipe --connect /tmp/lines.sock --messages lines
#include <poll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <iostream>
#include <string>

#include "bus/channel/consumer.h"
#include "bus/channel/listener.h"
#include "bus/unique_fd.h"

namespace {

int fail(const std::string& why) {
  std::cerr << "event_loop: " << why << '\n';
  return 1;
}

lapwing::UniqueFd make_timer() {
  lapwing::UniqueFd timer(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  const itimerspec every_100_ms = {{0, 100'000'000}, {0, 100'000'000}};
  timerfd_settime(timer.get(), 0, &every_100_ms, nullptr);
  return timer;
}

// Everything that is there. kWouldBlock: nothing more for now.
lapwing::ChannelResult take_messages(lapwing::ChannelConsumer& consumer, std::uint64_t& bytes,
                                     std::uint64_t& messages) {
  for (;;) {
    const lapwing::Peek peek = consumer.try_peek();
    if (peek.result != lapwing::ChannelResult::kOk) return peek.result;
    bytes += peek.message.payload.size();
    ++messages;
    consumer.release();
  }
}

int run(const std::string& path) {
  auto listener = lapwing::ChannelListener::listen(path);
  if (!listener.ok()) return fail(std::string(listener.status().message()));
  auto consumer = lapwing::ChannelConsumer::accept(*listener, {}, lapwing::kNoDeadline);
  if (!consumer.ok()) return fail(std::string(consumer.status().message()));

  const lapwing::UniqueFd timer = make_timer();
  std::uint64_t bytes = 0;
  std::uint64_t messages = 0;
  std::uint64_t ticks = 0;
  for (;;) {
    const lapwing::ChannelResult result = take_messages(*consumer, bytes, messages);
    if (result == lapwing::ChannelResult::kClosed) break;
    if (result != lapwing::ChannelResult::kWouldBlock) {
      return fail(std::string(consumer->status().message()));
    }
    // Says that this side is about to sleep, and looks once more. False: something came in between,
    // so there is nothing to sleep for. Without this call the descriptor stays silent, because the
    // producer makes no system call for a consumer that is awake.
    if (!consumer->prepare_to_poll()) continue;
    std::array<pollfd, 2> entries = {{{consumer->fd(), POLLIN, 0}, {timer.get(), POLLIN, 0}}};
    poll(entries.data(), entries.size(), -1);
    std::uint64_t expirations = 0;
    if (entries[1].revents != 0 &&
        read(timer.get(), &expirations, sizeof expirations) == sizeof expirations) {
      ticks += expirations;
    }
  }
  std::cout << messages << " messages of " << bytes << " bytes, and the timer ticked "
            << (ticks > 0 ? "meanwhile" : "never") << '\n';
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2) return run(argv[1]);
  std::cerr << "usage: event_loop PATH\n";
  return 2;
}
