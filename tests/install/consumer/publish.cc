// An external user's program: publishes quotes.
#include <cstdint>
#include <iostream>

#include "lapwing/publisher.h"

struct Quote {
  std::uint64_t ts_event;
  std::int64_t bid;
  std::int64_t ask;
};

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  auto publisher = lapwing::Publisher::open({.directory = argv[1], .record_bytes = sizeof(Quote)});
  if (!publisher.ok()) {
    std::cerr << publisher.status() << '\n';
    return 1;
  }
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    const Quote quote{i, static_cast<std::int64_t>(100 * i),
                      static_cast<std::int64_t>(100 * i + 1)};
    if (!publisher->publish(quote).ok()) {
      std::cerr << publisher->last_error() << '\n';
      return 1;
    }
  }
  if (const absl::Status closed = publisher->close(std::chrono::seconds(30)); !closed.ok()) {
    std::cerr << closed << '\n';
    return 1;
  }
  std::cout << "published " << publisher->head() << '\n';
  return 0;
}
