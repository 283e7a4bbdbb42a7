// A strategy: joins late, handles gaps, and quotes only on the newest data.
//   strategy BUS FILE [always]      `always` quotes on any data, which the test must detect
#include <fstream>
#include <string_view>

#include "lapwing/typed_subscriber.h"
#include "tests/desk/desk.h"

int main(int argc, char** argv) {
  const bool always = argc == 4 && std::string_view(argv[3]) == "always";
  std::ofstream made(argv[2], std::ios::binary | std::ios::app);
  auto bus = lapwing::TypedSubscriber<desk::Quote>::open({.directory = argv[1],
                                                          .name = "strategy",
                                                          .start = lapwing::Start::live(),
                                                          .wait = lapwing::WaitStrategy::kPark,
                                                          .reattach = std::chrono::hours(1),
                                                          .behind_records = desk::kBehindMax});
  if (!bus.ok()) return desk::fail(bus.status());
  for (;;) {
    desk::Quote quote;
    const auto sequence = bus->read_one(quote);
    if (sequence.ok()) {
      const desk::MadeQuote mine{*sequence, desk::utc_ns()};
      if (!always && !(*bus)->live()) continue;
      made.write(reinterpret_cast<const char*>(&mine), sizeof mine).flush();
    } else if (sequence == lapwing::Errc::kEventDue) {
      const auto event = (*bus)->read_event();  // a real desk would pull its quotes here
      if (event.ok()) std::cout << name_of(event->kind) << ' ' << event->sequence << std::endl;
    } else {
      return desk::fail((*bus)->status());
    }
  }
}
