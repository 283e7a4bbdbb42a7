// A screen: of each instrument's side the newest record, four times a second, however fast the feed
// is. What was not shown is counted.
//
//   lapwing publish --bus ./es --source synthetic:records=200000,instruments=3 --pace 50000 &
//   screen ./es
#include <cstring>
#include <iostream>
#include <map>
#include <utility>

#include "lapwing/conflation.h"
#include "lapwing/dbn.h"
#include "os/kernel.h"

namespace {

constexpr std::uint64_t kIntervalNs = 250'000'000;

struct Line {
  lapwing::dbn::MboMsg newest;
  std::uint64_t records = 0;
};
using Screen = std::map<std::pair<std::uint32_t, lapwing::dbn::Side>, Line>;

void draw(const Screen& screen) {
  for (const auto& [key, line] : screen) {
    std::cout << key.first << ' ' << static_cast<char>(key.second) << "  last order "
              << line.newest.order_id << ", " << line.records << " records\n";
  }
}

int run(const char* bus) {
  lapwing::SubscriberOptions options;
  options.directory = bus;
  options.name = "screen";
  options.start = lapwing::Start::oldest();
  lapwing::Subscriber subscriber(options);
  lapwing::ConflatedReader reader(subscriber, {.interval_ns = kIntervalNs});
  Screen screen;
  for (;;) {
    const lapwing::Item item = reader.wait(lapwing::monotonic_ns() + kIntervalNs);
    if (item.kind == lapwing::ItemKind::kRecord) {
      if (reader.schema() != lapwing::dbn::kSchemaMbo) {
        std::cerr << "screen: the bus carries " << reader.schema() << ", no orders\n";
        return 1;
      }
      lapwing::dbn::MboMsg order;
      std::memcpy(&order, reader.record().data(), sizeof order);
      Line& line = screen[{order.hd.instrument_id, order.side}];
      line.newest = order;
      line.records += 1 + reader.conflated();
    } else if (item.kind == lapwing::ItemKind::kClosed) {
      break;
    } else if (item.kind == lapwing::ItemKind::kEnded) {
      std::cerr << "screen: " << reader.status().message() << '\n';
      return 1;
    }
  }
  draw(screen);
  const lapwing::ConflationCounters& counters = reader.counters();
  std::cout << counters.records << " records: " << counters.delivered << " shown, "
            << counters.conflated << " conflated\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2) return run(argv[1]);
  std::cerr << "usage: screen BUS\n";
  return 2;
}
