// A producer that outlives its consumers. When a consumer has ended, it connects to the next one
// and resends the messages that the last one had not taken, so every number arrives at least once.
//
//   lapwing pipe --listen /tmp/numbers.sock --messages lines &     kill it and start it again
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

// A new connection starts empty. It contains no messages from an earlier connection.
absl::StatusOr<lapwing::ChannelProducer> connect(const std::string& path) {
  return lapwing::ChannelProducer::connect(path, {.retry = std::chrono::seconds(60)},
                                           std::chrono::seconds(60));
}

// Sends numbers starting with `first`. Returns the next number to send: count + 1, or the first
// number that this consumer had not taken when it ended.
std::uint64_t send(lapwing::ChannelProducer& producer, std::uint64_t first, std::uint64_t count) {
  lapwing::Result<> sent;
  for (std::uint64_t n = first; n <= count && sent.ok(); ++n) {
    const std::string text = std::to_string(n);
    sent = producer.send(std::as_bytes(std::span(text)), kNumber);
  }
  // Only released messages have certainly been taken, so wait for that.
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
