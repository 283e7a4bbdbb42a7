// Each bus's measurements from the last hour, for the charts of pages that are opened later.
//
// At most one point a second. A value that was not measured is NaN here and null in JSON.
//
// Limits: kHistoryPointsMax points and kHistoryBusesMax buses; lag and delay for
// kHistorySubscribersMax subscribers per bus and kHistoryColumnsMax in total, ages for
// kHistoryHeatsMax per bus. All other charts begin when the page is opened.
//
// Thread safety: add() by one thread, json() by another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lapwing/ages.h"
#include "monitor/bus_monitor.h"
#include "monitor/machine_monitor.h"

namespace lapwing {

inline constexpr std::size_t kHistoryPointsMax = 3600;
inline constexpr std::uint64_t kHistoryStepNs = 1'000'000'000;
inline constexpr std::size_t kHistoryBusesMax = 1024;
inline constexpr std::size_t kHistorySubscribersMax = 64;
inline constexpr std::size_t kHistoryColumnsMax = 2048;
inline constexpr std::size_t kHistoryHeatsMax = 16;

class Histories {
 public:
  // Readings must be added in time order. If the wall clock steps back, the histories start
  // over.
  void add(const MachineReading& reading);
  // The object of /api/v1/history without `version` and `revision`; nullopt if no such bus
  // exists.
  std::optional<std::string> json(const std::string& directory) const;

 private:
  using Column = std::deque<float>;                                         // one value per time
  using HeatCounts = std::vector<std::pair<std::uint64_t, std::uint64_t>>;  // upper ns, count

  struct Subscriber {
    Column lag;
    Column delay_seconds;
    std::string name;
    std::uint32_t pid = 0;
    std::uint64_t connected_wall_ns = 0;
    bool observes = false;
    std::uint64_t newest = 0;  // number of its newest point
    std::optional<AgeHistogram> ages;
    std::deque<std::pair<std::uint64_t, HeatCounts>> heat;  // by point number
  };
  struct Bus {
    std::deque<std::uint64_t> times_ms;
    std::uint64_t points = 0;  // so far; the newest has this number
    Column rate;
    Column unarchived;
    Column undurable;
    Column stalls_ms;
    std::optional<std::uint64_t> stalls_sum_ns;
    std::map<std::string, Subscriber> subscribers;  // by key_of()
  };

  void add(Bus& bus, const BusReading& reading, std::uint64_t time_ms);
  void add_subscribers(Bus& bus, const BusReading& reading);
  void note_ages(Bus& bus, Subscriber& subscriber, const Latency& latency);
  static void drop_oldest(Bus& bus);

  mutable std::mutex mutex_;
  std::string host_;
  std::map<std::string, Bus> buses_;  // by directory; the mutex protects all members
  std::uint64_t newest_wall_ns_ = 0;
  std::size_t columns_ = 0;
};

}  // namespace lapwing
