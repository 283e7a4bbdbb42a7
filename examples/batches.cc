// Batches: many small messages become visible together and are read together, with one wake-up and
// one poll instead of many.
//
//   batches receive /tmp/ticks.sock &
//   batches send /tmp/ticks.sock
#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <span>
#include <string>

#include "lapwing/consumer.h"
#include "lapwing/listener.h"
#include "lapwing/producer.h"

namespace {

constexpr std::uint64_t kBatches = 1000;
constexpr std::uint64_t kTicksPerBatch = 32;
constexpr std::uint32_t kTick = 1;

int fail(const absl::Status& status) {
  std::cerr << "batches: " << status.message() << '\n';
  return 1;
}

int receive(const std::string& path) {
  auto listener = lapwing::ChannelListener::listen(path);
  if (!listener.ok()) return fail(listener.status());
  auto consumer = lapwing::ChannelConsumer::accept(*listener, {}, lapwing::Deadline::never());
  if (!consumer.ok()) return fail(consumer.status());

  std::array<lapwing::Message, 256> messages;
  std::uint64_t expected = 0;
  for (;;) {
    // Borrows all available messages, at least one.
    const lapwing::Result<std::size_t> batch = consumer->peek_batch(messages);
    if (batch.error() == lapwing::Errc::kClosed) break;
    if (!batch.ok()) return fail(consumer->status());
    for (const lapwing::Message& message : std::span(messages).first(*batch)) {
      std::uint64_t tick = 0;
      std::memcpy(&tick, message.payload.data(), sizeof tick);
      if (tick != expected++) std::cerr << "batches: tick " << tick << " is out of order\n";
    }
    // Releases all borrowed messages. release(messages, n) releases only the first n, so that the
    // producer can continue while the others are in use.
    if (!consumer->release().ok()) return fail(consumer->status());
  }
  std::cout << expected << " ticks in order\n";
  return 0;
}

int send(const std::string& path) {
  auto producer = lapwing::ChannelProducer::connect(path, {}, std::chrono::seconds(10));
  if (!producer.ok()) return fail(producer.status());
  for (std::uint64_t batch = 0; batch < kBatches; ++batch) {
    for (std::uint64_t i = 0; i < kTicksPerBatch; ++i) {
      const std::uint64_t tick = batch * kTicksPerBatch + i;
      const auto claim = producer->claim(sizeof tick);
      if (!claim.ok()) return fail(producer->status());
      std::memcpy(claim->data(), &tick, sizeof tick);
      // Adds a message that the consumer does not see yet. If the channel is full, the next claim
      // commits the staged messages before it waits, so a batch cannot be too large.
      if (!producer->stage(sizeof tick, kTick).ok()) return fail(producer->status());
    }
    // Makes all of them visible together.
    if (!producer->commit_staged().ok()) return fail(producer->status());
  }
  producer->close();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string role = argc > 1 ? argv[1] : "";
  if (role == "receive" && argc == 3) return receive(argv[2]);
  if (role == "send" && argc == 3) return send(argv[2]);
  std::cerr << "usage: batches receive PATH | batches send PATH\n";
  return 2;
}
