// A trader: sends one order after another, each until it is filled, through any number of gateways.
// After a restart it starts over with its first order. The gateway only answers orders that are
// already filled.
//   trader SOCKET NUMBER
#include "lapwing/duplex.h"
#include "tests/desk/desk.h"

int main(int, char** argv) {
  desk::Order order{std::strtoull(argv[2], nullptr, 10), 1, 0};
  for (;;) {
    auto gateway = lapwing::Duplex::connect(argv[1], {.retry = std::chrono::minutes(1)},
                                            std::chrono::minutes(1));
    if (!gateway.ok()) return desk::fail(gateway.status());
    for (;;) {
      const lapwing::Result<lapwing::Reply> reply =
          gateway->call(order, desk::Kind::kNewOrder, std::chrono::seconds(10));
      if (!reply.ok()) break;  // the result is unknown: send it again
      std::cout << "filled " << order.number++ << std::endl;
    }
  }
}
