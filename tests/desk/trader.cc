// A trader: sends one order after the other, each until it is filled, through any number of
// gateways. After a start it begins with its first order: the gateway answers those that are
// filled.
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
      if (!reply.ok()) break;  // not known: it is sent again
      std::cout << "filled " << order.number++ << std::endl;
    }
  }
}
