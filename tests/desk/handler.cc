// A feed handler: publishes quotes, which are a custom struct. It continues with the next number,
// regardless of how the last run ended.
//   handler BUS
#include <thread>

#include "lapwing/typed_publisher.h"
#include "tests/desk/desk.h"

int main(int, char** argv) {
  auto publisher =
      lapwing::TypedPublisher<desk::Quote>::open({.directory = argv[1], .capacity = 16'384});
  if (!publisher.ok()) return desk::fail(publisher.status());
  std::cout << "from " << (*publisher)->first() << std::endl;
  for (std::uint64_t n = (*publisher)->first();; ++n) {
    const auto price = static_cast<std::int64_t>(n % 1000) * 1'000'000'000;
    if (!publisher->publish({n, 0, n % 8, price, price + 1}).ok()) {
      return desk::fail((*publisher)->last_error());
    }
    // Limits the feed to about 100,000 records per second.
    if (n % 100 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}
