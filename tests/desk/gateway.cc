// An order gateway for many traders, in one thread: fills each order once, whoever is killed. What
// it has filled is on a bus of its own, which is its memory.
//   gateway SOCKET FILLS
#include <map>

#include "lapwing/duplex.h"
#include "lapwing/listener.h"
#include "lapwing/typed_publisher.h"
#include "lapwing/typed_subscriber.h"
#include "lapwing/wait_set.h"
#include "tests/desk/desk.h"

int main(int, char** argv) {
  auto fills = lapwing::TypedPublisher<desk::Order>::open({.directory = argv[2]});
  auto past = lapwing::TypedSubscriber<desk::Order>::open(
      {.directory = argv[2], .start = lapwing::Start::oldest()});
  auto listener = lapwing::ChannelListener::listen(argv[1]);
  auto set = lapwing::WaitSet::open();
  if (!fills.ok() || !past.ok()) return desk::fail(fills.ok() ? past.status() : fills.status());
  if (!listener.ok() || !set.ok()) return desk::fail(set.ok() ? listener.status() : set.status());
  std::map<std::uint64_t, std::uint64_t> filled;  // of each trader, the last
  desk::Order order;
  while ((*past)->position().sequence < (*fills)->head()) {
    const lapwing::Taken taken = past->take(order, lapwing::Deadline::never());
    if (taken.result == lapwing::Errc::kEventDue && (*past)->take_event()) continue;
    if (taken.result != lapwing::Errc::kOk) return desk::fail((*past)->status());
    filled[order.trader] = order.number;
  }
  std::map<lapwing::SourceId, lapwing::Duplex> traders;
  if (auto added = set->add(*listener, 0); !added.ok()) return desk::fail(added.status());
  for (;;) {
    const lapwing::Ready ready = set->wait(lapwing::Deadline::never());
    if (ready.kind == lapwing::SourceKind::kListener) {
      auto trader = lapwing::Duplex::accept(*listener, {}, lapwing::Deadline::now());
      auto id = trader.ok() ? set->add(*trader, 0) : trader.status();
      if (id.ok()) traders.emplace(*id, *std::move(trader));
      continue;
    }
    lapwing::Duplex& trader = traders.at(ready.source);
    const lapwing::Incoming in = trader.try_next();
    if (const auto placed = in.as<desk::Order>()) {
      // One that was filled already is only answered: its trader, or the gateway, was killed.
      if (placed->number > filled[placed->trader]) {
        if (fills->publish(*placed) == lapwing::kNoSequence) return EXIT_FAILURE;
        filled[placed->trader] = placed->number;
      }
      (void)trader.reply(in.call, *placed,
                         desk::Kind::kFilled);  // one that is gone is seen next time
    } else if (in.result != lapwing::Errc::kWouldBlock) {
      traders.erase(ready.source);  // and so from the set
    }
  }
}
