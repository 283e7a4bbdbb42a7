#include "bench/probe.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bench/bench_bus.h"
#include "bench/floor.h"

namespace lapwing::bench {
namespace {

constexpr std::size_t kRoundTrips = 64'000;
constexpr int kLooks = 100'000;

#if defined(__x86_64__)
constexpr char kClock[] = "rdtsc, calibrated with CLOCK_MONOTONIC";
#else
constexpr char kClock[] = "CLOCK_MONOTONIC";
#endif

}  // namespace

Probe probe() {
  Probe probe;
  probe.clock = kClock;
  probe.placement = straight_placement();
  pin_to_core(probe.placement.first);
  std::uint64_t smallest = ~std::uint64_t{0};
  const std::uint64_t start = ticks();
  std::uint64_t last = start;
  for (int look = 0; look < kLooks; ++look) {
    const std::uint64_t now = ticks();
    if (now > last) smallest = std::min(smallest, now - last);
    last = now;
  }
  probe.clock_ns = static_cast<double>(last - start) * ns_per_tick() / kLooks;
  probe.clock_step_ns = static_cast<double>(smallest) * ns_per_tick();
  if (has_two_cores()) {
    probe.line_ns = line_ns(probe.placement, kRoundTrips);
    probe.walk_ns = walk_ns(probe.placement, kCapacity, kRoundTrips);
  }
  return probe;
}

std::string to_json_line(const Probe& probe) {
  const nlohmann::ordered_json object = {{"cores", {probe.placement.first, probe.placement.second}},
                                         {"line_ns", probe.line_ns},
                                         {"walk_ns", probe.walk_ns},
                                         {"clock", probe.clock},
                                         {"clock_ns", probe.clock_ns},
                                         {"clock_step_ns", probe.clock_step_ns}};
  return object.dump();
}

}  // namespace lapwing::bench
