// A screen with the newest record of each side of each instrument, updated four times per second,
// regardless of the rate of the feed. Records that are not shown are counted.
//
//   lapwing publish --bus ./es --source synthetic:records=200000,instruments=3 --pace 50000 &
//   screen ./es
#include <chrono>
#include <cstdint>
#include <iostream>
#include <map>
#include <utility>

#include "lapwing/conflation.h"
#include "lapwing/dbn.h"

namespace {

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

int fail(const absl::Status& status) {
  std::cerr << "screen: " << status.message() << '\n';
  return 1;
}

int run(const char* bus) {
  auto reader = lapwing::ConflatedReader::open(
      {.directory = bus, .name = "screen", .start = lapwing::Start::oldest()},
      {.interval = std::chrono::milliseconds(250)});
  if (!reader.ok()) return fail(reader.status());
  Screen screen;
  for (;;) {
    lapwing::dbn::MboMsg order;
    const auto read = reader->read_one(order);
    if (read.ok()) {
      Line& line = screen[{order.hd.instrument_id, order.side}];
      line.newest = order;
      line.records += 1 + read->conflated;
      continue;
    }
    if (read != lapwing::Errc::kEventDue) return fail(reader->status());
    const auto event = reader->read_event();
    if (!event.ok()) continue;
    if (event->kind == lapwing::EventKind::kClosed) break;
    if (event->schema_name != lapwing::dbn::kSchemaMbo) {
      std::cerr << "screen: the bus carries " << event->schema << ", no orders\n";
      return 1;
    }
  }
  draw(screen);
  const lapwing::ConflationCounters counters = reader->counters();
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
