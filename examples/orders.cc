// A producer and a consumer that copy nothing: messages are written where they are read.
//
//   orders receive /tmp/orders.sock &      listens; ends when the sender has closed the channel
//   orders send /tmp/orders.sock 1000
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>

#include "lapwing/consumer.h"
#include "lapwing/listener.h"
#include "lapwing/producer.h"

namespace {

// Both sides share this definition. A channel carries bytes and a 32-bit type that identifies their
// format.
struct Order {
  std::uint64_t id;
  std::int64_t price;  // 1e-9 units
  std::uint32_t quantity;
  char symbol[12];
};
constexpr std::uint32_t kNewOrder = 1;

int fail(const absl::Status& status) {
  std::cerr << "orders: " << status.message() << '\n';
  return 1;
}

int receive(const std::string& path) {
  // Creates the socket, which only this user and root can connect to. The listener removes it.
  auto listener = lapwing::ChannelListener::listen(path);
  if (!listener.ok()) return fail(listener.status());
  // Waits for a producer, which chooses the size of the channel.
  auto consumer = lapwing::ChannelConsumer::accept(*listener, {}, lapwing::Deadline::never());
  if (!consumer.ok()) return fail(consumer.status());

  std::uint64_t orders = 0;
  std::int64_t sum = 0;
  for (;;) {
    // Borrows the next message in place; waits until there is one.
    const lapwing::Result<lapwing::Message> message = consumer->peek();
    // The producer has closed the channel, and all its messages have been read.
    if (message.error() == lapwing::Errc::kClosed) break;
    // All other errors are abnormal: the producer died (kPeerGone), or wrote invalid data
    // (kCorrupt).
    if (!message.ok()) return fail(consumer->status());
    if (message->type == kNewOrder && message->payload.size() == sizeof(Order)) {
      Order order;
      std::memcpy(&order, message->payload.data(), sizeof order);
      sum += order.price * order.quantity;
      ++orders;
    }
    // Returns the memory to the producer. Do not use the payload after this.
    if (!consumer->release().ok()) return fail(consumer->status());
  }
  std::cout << orders << " orders, worth " << sum / 1'000'000'000 << '\n';
  return 0;
}

int send(const std::string& path, std::uint64_t count) {
  // At most 4 KiB per message and 64 KiB in the channel. If it is full, the producer waits.
  // Messages are never overwritten.
  const lapwing::ChannelOptions options{.capacity = 64 * 1024, .message_bytes_max = 4096};
  auto producer = lapwing::ChannelProducer::connect(path, options, std::chrono::seconds(10));
  if (!producer.ok()) return fail(producer.status());

  for (std::uint64_t id = 1; id <= count; ++id) {
    // Claims room for a message in the channel's memory; waits until there is room.
    const auto claim = producer->claim(sizeof(Order));
    if (!claim.ok()) return fail(producer->status());
    const Order order{id, 4'700'250'000'000, 2, "ESH4"};
    std::memcpy(claim->data(), &order, sizeof order);
    // Makes the message visible to the consumer. It may be smaller than the claim.
    if (!producer->commit(sizeof order, kNewOrder).ok()) return fail(producer->status());
  }
  // The consumer reads the remaining messages, then gets kClosed. To wait until it has read
  // everything, call drain() first.
  producer->close();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string role = argc > 1 ? argv[1] : "";
  if (role == "receive" && argc == 3) return receive(argv[2]);
  if (role == "send" && argc == 4) return send(argv[2], std::strtoull(argv[3], nullptr, 10));
  std::cerr << "usage: orders receive PATH | orders send PATH COUNT\n";
  return 2;
}
