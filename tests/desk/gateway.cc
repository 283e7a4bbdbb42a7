// An order gateway that serves many traders on one thread. It fills each order once, despite kills.
// Its fills are on its own bus, which is its memory.
//   gateway SOCKET FILLS
#include <map>

#include "lapwing/duplex_server.h"
#include "lapwing/typed_publisher.h"
#include "lapwing/typed_subscriber.h"
#include "tests/desk/desk.h"

int main(int, char** argv) {
  auto fills = lapwing::TypedPublisher<desk::Order>::open({.directory = argv[2]});
  auto past = lapwing::TypedSubscriber<desk::Order>::open(
      {.directory = argv[2], .start = lapwing::Start::oldest()});
  auto server = lapwing::DuplexServer::open(argv[1]);
  if (!fills.ok() || !past.ok()) return desk::fail(fills.ok() ? past.status() : fills.status());
  if (!server.ok()) return desk::fail(server.status());
  std::map<std::uint64_t, std::uint64_t> filled;  // the last order of each trader
  desk::Order order;
  while ((*past)->position().sequence < (*fills)->head()) {
    const auto sequence = past->read_one(order);
    if (sequence == lapwing::Errc::kEventDue && (*past)->read_event().ok()) continue;
    if (!sequence.ok()) return desk::fail((*past)->status());
    filled[order.trader] = order.number;
  }
  for (;;) {
    const lapwing::Result<lapwing::ServerEvent> event = server->wait();
    if (!event.ok()) return desk::fail(server->status());
    const auto placed = event->message.as<desk::Order>();
    if (!placed) continue;  // a trader connects or disconnects
    // An order that is already filled is only answered: its trader or the gateway had been
    // killed.
    if (placed->number > filled[placed->trader]) {
      if (!fills->publish(*placed).ok()) return EXIT_FAILURE;
      filled[placed->trader] = placed->number;
    }
    // A trader has one pending order, so there is room. A disconnected trader returns and asks
    // again.
    (void)server->try_reply(event->client, event->message.call, *placed, desk::Kind::kFilled);
  }
}
