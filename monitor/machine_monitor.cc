#include "monitor/machine_monitor.h"

#include <algorithm>
#include <utility>

#include "monitor/bus_search.h"

namespace lapwing {

MachineMonitor::MachineMonitor(std::vector<std::string> directories)
    : searches_(directories.empty()), order_(std::move(directories)) {
  for (const std::string& directory : order_) buses_.try_emplace(directory, directory);
}

void MachineMonitor::search(std::uint64_t now_ns) {
  if (!searches_ || now_ns < search_again_ns_) return;
  search_again_ns_ = now_ns + kSearchNs;
  const FoundBuses found = find_buses();
  found_.not_trusted = found.not_trusted;
  found_.not_permitted = found.not_permitted;
  found_.beyond_limit = found.beyond_limit;
  order_.clear();
  for (const FoundBus& bus : found.buses) {
    order_.push_back(bus.announcement.directory);
    buses_.try_emplace(order_.back(), order_.back());
  }
  std::erase_if(buses_, [&](const auto& entry) {
    return !std::binary_search(order_.begin(), order_.end(), entry.first);
  });
}

void MachineMonitor::sample(std::uint64_t now_ns) {
  search(now_ns);
  for (auto& [directory, bus] : buses_) bus.sample(now_ns);
}

MachineReading MachineMonitor::read(std::uint64_t now_ns, std::uint64_t wall_ns) {
  search(now_ns);
  MachineReading reading = found_;
  reading.wall_ns = wall_ns;
  for (const std::string& directory : order_) {
    reading.buses.push_back(buses_.at(directory).read(now_ns));
  }
  return reading;
}

}  // namespace lapwing
