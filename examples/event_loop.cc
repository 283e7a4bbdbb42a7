// Channels in an event loop with other descriptors, here a timer. Any number of producers are
// served at the same time. While idle, the process sleeps in poll() and uses no processor time.
//
//   event_loop /tmp/lines.sock &
//   seq 100 | lapwing pipe --connect /tmp/lines.sock --messages lines
#include <poll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "lapwing/consumer.h"
#include "lapwing/error.h"
#include "lapwing/listener.h"

namespace {

int fail(const std::string& why) {
  std::cerr << "event_loop: " << why << '\n';
  return 1;
}

// Returns a periodic timer, or -1 on failure. It lives as long as the process.
int make_timer() {
  const int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  const itimerspec every_100_ms = {{0, 100'000'000}, {0, 100'000'000}};
  timerfd_settime(timer, 0, &every_100_ms, nullptr);
  return timer;
}

constexpr int kMessagesPerTurn = 1000;  // per producer, so that every producer gets its turn

struct Totals {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  std::uint64_t ticks = 0;
  std::uint64_t producers = 0;
};

// Reads the available messages. Returns false if this producer has ended.
bool take_messages(lapwing::ChannelConsumer& consumer, Totals& totals) {
  for (int i = 0; i < kMessagesPerTurn; ++i) {
    const lapwing::Result<lapwing::Message> message = consumer.try_peek();
    if (message.error() == lapwing::Errc::kWouldBlock) break;
    if (message.error() == lapwing::Errc::kClosed) return false;
    if (message.ok()) {
      totals.bytes += message->payload.size();
      ++totals.messages;
    }
    if (!message.ok() || !consumer.release().ok()) {
      fail(std::string(consumer.status().message()));
      return false;
    }
  }
  return true;
}

// Accepts all waiting producers. Returns kWouldBlock when there are no more.
absl::Status accept_all(lapwing::ChannelListener& listener,
                        std::vector<lapwing::ChannelConsumer>& consumers, Totals& totals) {
  for (;;) {
    auto consumer = lapwing::ChannelConsumer::accept(listener, {}, lapwing::Deadline::now());
    if (!consumer.ok()) return consumer.status();
    consumers.push_back(*std::move(consumer));
    ++totals.producers;
  }
}

// Sleeps until the listener, the timer or a consumer is ready. Returns true if the listener is
// ready.
bool sleep(const lapwing::ChannelListener& listener, int timer,
           std::vector<lapwing::ChannelConsumer>& consumers, Totals& totals) {
  std::vector<pollfd> entries = {{listener.fd(), POLLIN, 0}, {timer, POLLIN, 0}};
  // arm() announces that this side is about to sleep, and checks for messages once more. It returns
  // false if one has arrived, so there is no need to sleep. Without this call the descriptor never
  // becomes readable, because a producer makes no system call for a consumer that is awake.
  bool sleeps = true;
  for (lapwing::ChannelConsumer& consumer : consumers) {
    sleeps = consumer.arm() && sleeps;
    entries.push_back({consumer.fd(), POLLIN, 0});
  }
  poll(entries.data(), entries.size(), sleeps ? -1 : 0);
  std::uint64_t expirations = 0;
  if (entries[1].revents != 0 &&
      read(timer, &expirations, sizeof expirations) == sizeof expirations) {
    totals.ticks += expirations;
  }
  return entries[0].revents != 0;
}

int run(const std::string& path) {
  auto listener = lapwing::ChannelListener::listen(path);
  if (!listener.ok()) return fail(std::string(listener.status().message()));
  const int timer = make_timer();
  if (timer < 0) return fail("there is no timer to be had");
  std::vector<lapwing::ChannelConsumer> consumers;
  Totals totals;
  while (totals.producers == 0 || !consumers.empty()) {
    if (sleep(*listener, timer, consumers, totals)) {
      const absl::Status status = accept_all(*listener, consumers, totals);
      if (lapwing::errc_of(status) != lapwing::Errc::kWouldBlock) {
        fail(std::string(status.message()));
      }
    }
    std::erase_if(consumers, [&](auto& consumer) { return !take_messages(consumer, totals); });
  }
  std::cout << totals.messages << " messages of " << totals.bytes << " bytes, and the timer ticked "
            << (totals.ticks > 0 ? "meanwhile" : "never") << '\n';
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2) return run(argv[1]);
  std::cerr << "usage: event_loop PATH\n";
  return 2;
}
