// A producer and a consumer without a copy: what is sent is written where it is read.
//
//   orders receive /tmp/orders.sock &      listens, and ends when the sender has closed
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

// Both sides are built from this; a channel carries bytes and a 32-bit type, which says what they
// are.
struct Order {
  std::uint64_t id;
  std::int64_t price;  // in 1e-9
  std::uint32_t quantity;
  char symbol[12];
};
constexpr std::uint32_t kNewOrder = 1;

int fail(const absl::Status& status) {
  std::cerr << "orders: " << status.message() << '\n';
  return 1;
}

int receive(const std::string& path) {
  // Makes the socket; only this user, or root, can connect. It goes when the listener goes.
  auto listener = lapwing::ChannelListener::listen(path);
  if (!listener.ok()) return fail(listener.status());
  // Waits for a producer, which says how large the channel is.
  auto consumer = lapwing::ChannelConsumer::accept(*listener, {}, lapwing::Deadline::never());
  if (!consumer.ok()) return fail(consumer.status());

  std::uint64_t orders = 0;
  std::int64_t sum = 0;
  for (;;) {
    // Borrows the next message where the producer wrote it; waits until there is one.
    const lapwing::Result<lapwing::Message> message = consumer->peek();
    // The producer has closed the channel, and everything it had sent was read.
    if (message.error() == lapwing::Errc::kClosed) break;
    // Anything else is no proper end: kPeerGone, it died; kCorrupt, it wrote nonsense.
    if (!message.ok()) return fail(consumer->status());
    if (message->type == kNewOrder && message->payload.size() == sizeof(Order)) {
      Order order;
      std::memcpy(&order, message->payload.data(), sizeof order);
      sum += order.price * order.quantity;
      ++orders;
    }
    // Gives the memory back to the producer. The payload is not to be touched from here on.
    if (!consumer->release().ok()) return fail(consumer->status());
  }
  std::cout << orders << " orders, worth " << sum / 1'000'000'000 << '\n';
  return 0;
}

int send(const std::string& path, std::uint64_t count) {
  // At most 4 KiB to a message and 64 KiB under way: the producer waits when the consumer is so far
  // behind. Nothing is ever overwritten.
  const lapwing::ChannelOptions options{.capacity = 64 * 1024, .message_bytes_max = 4096};
  auto producer = lapwing::ChannelProducer::connect(path, options, std::chrono::seconds(10));
  if (!producer.ok()) return fail(producer.status());

  for (std::uint64_t id = 1; id <= count; ++id) {
    // Room for a message in the channel's own memory; waits while there is none.
    const auto claim = producer->claim(sizeof(Order));
    if (!claim.ok()) return fail(producer->status());
    const Order order{id, 4'700'250'000'000, 2, "ESH4"};
    std::memcpy(claim->data(), &order, sizeof order);
    // From here on the consumer sees it. A smaller message than was claimed may be committed.
    if (!producer->commit(sizeof order, kNewOrder).ok()) return fail(producer->status());
  }
  // The consumer reads what is there, and then learns that this was the end. Who wants to know that
  // it has read everything calls drain() first.
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
