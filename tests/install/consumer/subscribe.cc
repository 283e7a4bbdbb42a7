// An external user's program: reads typed quotes, from the oldest until the close.
#include <cstdint>
#include <iostream>

#include "lapwing/lapwing.h"

struct Quote {
  std::uint64_t ts_event;
  std::int64_t bid;
  std::int64_t ask;
};

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  auto subscriber = lapwing::Subscriber::open(
      {.directory = argv[1], .start = lapwing::Start::oldest(), .end_at_close = true});
  if (!subscriber.ok()) {
    std::cerr << subscriber.status() << '\n';
    return 1;
  }
  std::uint64_t quotes = 0;
  for (;;) {
    Quote quote;
    const auto sequence = subscriber->read_one(quote, std::chrono::seconds(30));
    if (sequence.ok()) {
      if (quote.ts_event != *sequence || quote.ask != quote.bid + 1) return 1;
      ++quotes;
    } else if (sequence == lapwing::Errc::kEventDue) {
      if (const auto event = subscriber->read_event(); event.ok()) {
        std::cerr << lapwing::name_of(event->kind) << '\n';
      }
    } else if (sequence == lapwing::Errc::kClosed) {
      break;
    } else {
      std::cerr << lapwing::name_of(sequence.error()) << ": " << subscriber->status() << '\n';
      return 1;
    }
  }
  std::cout << "read " << quotes << '\n';
  return subscriber->status().ok() && quotes == 1000 ? 0 : 1;
}
