// The buses of a machine, or those that were named, watched together.
//
// Thread safety: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "monitor/bus_monitor.h"

namespace lapwing {

inline constexpr std::uint64_t kSearchNs = 2'000'000'000;  // between two searches for buses

struct MachineReading {
  std::uint64_t wall_ns = 0;  // UTC
  std::vector<BusReading> buses;
  // As of FoundBuses; 0 where buses were named.
  std::size_t not_trusted = 0;
  std::size_t not_permitted = 0;
  std::size_t beyond_limit = 0;
};

class MachineMonitor {
 public:
  // Bus directories; none: whatever is announced on this machine, looked for every kSearchNs.
  explicit MachineMonitor(std::vector<std::string> directories);

  void sample(std::uint64_t now_ns);
  // In the order in which they were named, or by directory.
  MachineReading read(std::uint64_t now_ns, std::uint64_t wall_ns);

 private:
  void search(std::uint64_t now_ns);

  const bool searches_;
  std::uint64_t search_again_ns_ = 0;
  std::vector<std::string> order_;
  std::map<std::string, BusMonitor> buses_;
  MachineReading found_;  // without buses: what the last search left out
};

}  // namespace lapwing
