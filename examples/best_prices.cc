// A strategy that maintains a book: it prints the best bid and ask after every venue event, but not
// while the book is incomplete.
//
//   lapwing publish --bus /tmp/es --source synthetic:records=100000 --linger 5s &
//   best_prices /tmp/es 60000 1
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>

#include "lapwing/order_books.h"
#include "lapwing/subscriber.h"

namespace {

// The best prices. The strategy acts when they change.
struct Touch {
  std::int64_t bid = 0;  // 1e-9 units; 0: no bids
  std::int64_t ask = 0;
  friend bool operator==(const Touch&, const Touch&) = default;
};

Touch touch_of(const lapwing::OrderBook& book) {
  const lapwing::PriceLevel* const bid = book.best(lapwing::dbn::Side::kBid);
  const lapwing::PriceLevel* const ask = book.best(lapwing::dbn::Side::kAsk);
  return {bid == nullptr ? 0 : bid->price, ask == nullptr ? 0 : ask->price};
}

int fail(const absl::Status& status) {
  std::cerr << "best_prices: " << status.message() << '\n';
  return 1;
}

int run(const std::string& bus, std::uint16_t publisher_id, std::uint32_t instrument_id) {
  // Starts with the state of the newest checkpoint, followed by every later record.
  auto subscriber = lapwing::Subscriber::open({.directory = bus,
                                               .name = "best_prices",
                                               .start = lapwing::Start::snapshot("orders"),
                                               .wait = lapwing::WaitStrategy::kPark});
  if (!subscriber.ok()) return fail(subscriber.status());
  lapwing::OrderBooks books;
  Touch last;
  std::uint64_t changes = 0;
  for (;;) {
    const auto item = subscriber->next();
    if (!item.ok()) return fail(subscriber->status());
    // Handles records, losses and snapshots.
    if (!books.take(*item)) {
      std::cerr << "best_prices: the bus carries " << subscriber->schema() << ", no orders\n";
      return 1;
    }
    if (item->is(lapwing::EventKind::kClosed)) break;
    if (item->kind != lapwing::ItemKind::kRecord) continue;
    const lapwing::OrderBook* const book = books.find_book(publisher_id, instrument_id);
    // Within an event the book is in a state that the venue never showed.
    if (book == nullptr || !book->settled() || book->stale()) continue;
    const Touch now = touch_of(*book);
    if (now == last) continue;
    last = now;
    ++changes;
  }
  std::cout << changes << " changes of the best prices over " << books.sequence()
            << " records; the last are " << last.bid << " and " << last.ask << '\n';
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4) {
    return run(argv[1], static_cast<std::uint16_t>(std::atoi(argv[2])),
               static_cast<std::uint32_t>(std::atoi(argv[3])));
  }
  std::cerr << "usage: best_prices BUS PUBLISHER INSTRUMENT\n";
  return 2;
}
