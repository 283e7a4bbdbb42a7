// A listener that is replaced while it serves: the new process takes the listening socket over, so
// that no connect fails, and the old one serves the peer it has to its end.
//
//   hand_over listen /tmp/jobs.sock &
//   hand_over take-over /tmp/jobs.sock &      the first says so, and ends with its peer
#include <poll.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <string>

#include "lapwing/consumer.h"
#include "lapwing/error.h"
#include "lapwing/listener.h"

namespace {

int fail(const absl::Status& status) {
  std::cerr << "hand_over: " << status.message() << '\n';
  return 1;
}

// Serves one producer to its end, and lets a successor have the listener meanwhile.
std::uint64_t serve(lapwing::ChannelConsumer& consumer, lapwing::ChannelListener& listener) {
  std::uint64_t jobs = 0;
  for (;;) {
    const lapwing::Result<lapwing::Message> message = consumer.try_peek();
    if (message.ok()) {
      ++jobs;
      if (!consumer.release().ok()) return jobs;
      continue;
    }
    if (message.error() != lapwing::Errc::kWouldBlock) return jobs;
    if (!consumer.arm()) continue;
    std::array<pollfd, 2> entries = {{{consumer.fd(), POLLIN, 0}, {listener.fd(), POLLIN, 0}}};
    poll(entries.data(), entries.size(), -1);
    // Whoever connects is taken in; kClosed says that the successor has the socket.
    if (entries[1].revents != 0 && lapwing::errc_of(listener.tend()) == lapwing::Errc::kClosed) {
      std::cout << "handed over" << std::endl;
    }
  }
}

int run(absl::StatusOr<lapwing::ChannelListener> listener) {
  if (!listener.ok()) return fail(listener.status());
  std::cout << "listening" << std::endl;
  while (!listener->handed_over()) {
    auto consumer = lapwing::ChannelConsumer::accept(*listener, {}, lapwing::Deadline::never());
    if (lapwing::errc_of(consumer.status()) == lapwing::Errc::kClosed) {  // while nobody was here
      std::cout << "handed over" << std::endl;
      break;
    }
    if (!consumer.ok()) return fail(consumer.status());
    std::cout << serve(*consumer, *listener) << " jobs from one peer" << std::endl;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string role = argc > 1 ? argv[1] : "";
  if (role == "listen" && argc == 3) return run(lapwing::ChannelListener::listen(argv[2]));
  if (role == "take-over" && argc == 3) {
    return run(lapwing::ChannelListener::take_over(argv[2], std::chrono::seconds(10)));
  }
  std::cerr << "usage: hand_over listen PATH | hand_over take-over PATH\n";
  return 2;
}
