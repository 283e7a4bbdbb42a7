// An external user's program: two threads with a channel between them.
#include <cstdint>
#include <cstring>
#include <iostream>
#include <string>
#include <thread>

#include "lapwing/consumer.h"
#include "lapwing/listener.h"
#include "lapwing/producer.h"

namespace {

constexpr std::chrono::seconds kPatience{30};
constexpr std::uint64_t kMessages = 1000;

bool send(const std::string& path) {
  auto producer = lapwing::ChannelProducer::connect(path, {}, kPatience);
  if (!producer.ok()) return false;
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    const auto claim = producer->claim(sizeof i, kPatience);
    if (!claim.ok()) return false;
    std::memcpy(claim->data(), &i, sizeof i);
    if (!producer->commit(sizeof i, 1).ok()) return false;
  }
  return producer->drain(kPatience).ok();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::string path = std::string(argv[1]) + ".sock";
  auto listener = lapwing::ChannelListener::listen(path);
  if (!listener.ok()) {
    std::cerr << listener.status() << '\n';
    return 1;
  }
  bool sent = false;
  std::thread other([&] { sent = send(path); });
  std::uint64_t received = 0;
  auto consumer = lapwing::ChannelConsumer::accept(*listener, {}, kPatience);
  if (consumer.ok()) {
    for (; received < kMessages; ++received) {
      const lapwing::Result<lapwing::Message> message = consumer->peek(kPatience);
      std::uint64_t number = 0;
      if (!message.ok() || message->payload.size() != sizeof number) break;
      std::memcpy(&number, message->payload.data(), sizeof number);
      if (number != received || !consumer->release().ok()) break;
    }
  }
  other.join();
  std::cout << "received " << received << '\n';
  return sent && received == kMessages ? 0 : 1;
}
