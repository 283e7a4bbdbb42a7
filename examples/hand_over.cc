// Replaces a listener without interrupting service. The new process takes over the listening
// socket, so no connection attempt fails, and the old process serves its current peer to the end.
//
//   hand_over listen /tmp/jobs.sock &
//   hand_over take-over /tmp/jobs.sock &      the first prints a message, and ends with its peer
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

// Serves one producer until it ends. Meanwhile a successor may take over the listener.
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
    // Keeps new clients waiting for service. kClosed: a successor has taken over the socket.
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
    if (lapwing::errc_of(consumer.status()) == lapwing::Errc::kClosed) {  // no peer was connected
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
