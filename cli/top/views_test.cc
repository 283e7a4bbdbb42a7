#include "cli/top/views.h"

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "lapwing/error.h"

namespace lapwing::cli {
namespace {

BusReading bus(const std::string& name, PublisherState state) {
  BusReading reading;
  reading.directory = reading.label = name;
  reading.ring = RingStatus();
  reading.ring->is_held = state != PublisherState::kGone;
  if (state == PublisherState::kStopped) reading.ring->process = ProcessState::kStopped;
  reading.publisher = PublisherStatus();
  return reading;
}

BusReading unreadable(const std::string& name, Errc why) {
  BusReading reading = bus(name, PublisherState::kRunning);
  reading.ring = make_error(why, "why");
  return reading;
}

TEST_CASE("Buses with problems come first, then healthy ones, then those that ended") {
  MachineReading reading;
  reading.buses.push_back(bus("a-gone", PublisherState::kGone));
  reading.buses.push_back(unreadable("b-closed", Errc::kNotFound));
  reading.buses.push_back(bus("c-well", PublisherState::kRunning));
  reading.buses.push_back(bus("d-stopped", PublisherState::kStopped));
  reading.buses.push_back(unreadable("e-damaged", Errc::kDamaged));
  BusReading stuck = bus("f-stuck", PublisherState::kRunning);
  stuck.publisher->subscribers.emplace_back().lost = 1;
  reading.buses.push_back(std::move(stuck));
  const Table table = bus_table(reading, {}, true);
  std::vector<std::string> order;
  for (const Row& row : table.rows()) order.push_back(row.key);
  CHECK(order == std::vector<std::string>{"d-stopped", "e-damaged", "f-stuck", "c-well", "a-gone",
                                          "b-closed"});
}

}  // namespace
}  // namespace lapwing::cli
