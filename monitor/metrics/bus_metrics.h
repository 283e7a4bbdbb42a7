// A reading of the machine as metrics. docs/reference/metrics.md lists them.
//
// Thread safety: values and a free function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "monitor/channel_status.h"
#include "monitor/expected_subscribers.h"
#include "monitor/machine_monitor.h"
#include "proto/ring_counters.h"

namespace lapwing {

// The maximum number of names for a bus's subscribers, and for all channels. All others are merged
// into `other`.
inline constexpr std::size_t kNamesMax = 256;

struct MetricsOptions {
  std::string version;
  std::string revision;
  std::vector<ExpectedSubscriber> expected;
};

// A monitor's counters for its own work.
struct MonitorCounts {
  Durations samples;
  std::map<std::string, std::uint64_t> errors;  // by reason

  void add(const MachineReading& reading, const absl::Status& channels, std::uint64_t took_ns);
};

std::string bus_metrics_text(const MachineReading& reading,
                             const absl::StatusOr<ChannelList>& channels,
                             const MonitorCounts& counts, const MetricsOptions& options);

}  // namespace lapwing
