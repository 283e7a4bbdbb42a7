// A producer that outlives its consumers: when one has gone, it connects to the next, and sends
// again what the last one had not taken. So every number arrives at least once.
//
//   lapwing pipe --listen /tmp/numbers.sock --messages lines &     kill it, start it again
//   reconnect /tmp/numbers.sock 1000
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <span>
#include <string>

#include "lapwing/producer.h"

namespace {

constexpr std::uint32_t kNumber = 1;

// A new connection begins empty: nothing is left in it of an earlier one.
absl::StatusOr<lapwing::ChannelProducer> connect(const std::string& path) {
  return lapwing::ChannelProducer::connect(path, {.retry = std::chrono::seconds(60)},
                                           std::chrono::seconds(60));
}

// Sends from `first` on. Returns the number to go on with: count + 1, or the first that this
// consumer had not taken when it went.
std::uint64_t send(lapwing::ChannelProducer& producer, std::uint64_t first, std::uint64_t count) {
  lapwing::Result<> sent;
  for (std::uint64_t n = first; n <= count && sent.ok(); ++n) {
    const std::string text = std::to_string(n);
    sent = producer.send(std::as_bytes(std::span(text)), kNumber);
  }
  // Only what the consumer has released is certain to have been taken: wait for that.
  if (sent.ok()) sent = producer.drain();
  if (sent.ok()) return count + 1;
  std::cerr << "reconnect: " << producer.status().message() << '\n';
  return first + producer.counters().messages_released;
}

int run(const std::string& path, std::uint64_t count) {
  std::uint64_t connections = 0;
  for (std::uint64_t next = 1; next <= count;) {
    auto producer = connect(path);
    if (!producer.ok()) {
      std::cerr << "reconnect: " << producer.status().message() << '\n';
      return 1;
    }
    ++connections;
    next = send(*producer, next, count);
    producer->close();
  }
  std::cout << count << " numbers over " << connections << " connections\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3) return run(argv[1], std::strtoull(argv[2], nullptr, 10));
  std::cerr << "usage: reconnect PATH COUNT\n";
  return 2;
}
