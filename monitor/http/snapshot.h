// One reading of the machine for clients. The sampling thread creates it, and it never changes.
//
// Thread safety: immutable.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace lapwing {

struct SampledBus {
  std::string directory;
  std::string label;    // as in BusReading
  bool has_metrics;     // with that label
  absl::Status status;  // why its ring could not be read
};

struct Snapshot {
  std::uint64_t taken_ns = 0;  // CLOCK_MONOTONIC, when the reading ended
  std::string json = {};       // /api/v1/buses
  std::string metrics = {};    // about the buses and the sampling
  std::vector<SampledBus> buses = {};
  // Buses that were named but could not be sampled: "DIR: why".
  std::vector<std::string> not_sampled = {};
};

}  // namespace lapwing
