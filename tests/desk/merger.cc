// Merges two buses manually on one thread, in order of arrival.
//   merger QUOTES ORDERS FILE      FILE gets a line per record, "q NUMBER" or "o NUMBER"
#include <fstream>

#include "lapwing/dbn.h"
#include "lapwing/typed_subscriber.h"
#include "lapwing/wait_set.h"
#include "tests/desk/desk.h"

int main(int, char** argv) {
  enum Token : std::uint64_t { kQuotes, kOrders };
  std::ofstream file(argv[3]);
  const auto options = [](const char* directory) {
    return lapwing::SubscriberOptions{.directory = directory,
                                      .name = "merger",
                                      .start = lapwing::Start::oldest(),
                                      .reattach = std::chrono::hours(1)};
  };
  auto quotes = lapwing::TypedSubscriber<desk::Quote>::open(options(argv[1]));
  auto orders = lapwing::Subscriber::open(options(argv[2]));
  auto set = lapwing::WaitSet::open({.wait = lapwing::WaitStrategy::kPark});
  if (!quotes.ok()) return desk::fail(quotes.status());
  if (!orders.ok()) return desk::fail(orders.status());
  if (!set.ok()) return desk::fail(set.status());
  if (auto added = set->add(**quotes, kQuotes); !added.ok()) return desk::fail(added.status());
  if (auto added = set->add(*orders, kOrders); !added.ok()) return desk::fail(added.status());
  for (;;) {
    const lapwing::Result<lapwing::Ready> ready = set->wait(lapwing::Deadline::never());
    desk::Quote quote{};
    lapwing::dbn::MboMsg order{};
    const auto now = lapwing::Deadline::now();
    const auto sequence =
        ready->token == kQuotes ? quotes->read_one(quote, now) : orders->read_one(order, now);
    if (sequence.ok()) {
      if (ready->token == kQuotes) file << "q " << quote.number << std::endl;
      if (ready->token == kOrders) file << "o " << order.order_id << std::endl;
    } else if (sequence == lapwing::Errc::kEventDue) {
      auto& bus = ready->token == kQuotes ? **quotes : *orders;
      if (const auto event = bus.read_event(); event.ok())
        std::cout << name_of(event->kind) << std::endl;
    } else if (sequence != lapwing::Errc::kWouldBlock) {
      return desk::fail((ready->token == kQuotes ? **quotes : *orders).status());
    }
  }
}
