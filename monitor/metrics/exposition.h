// Every metric of `lapwing serve`, in one table: name, type, labels, help, unit, and how its value
// is read.
//
// deploy/monitoring/metrics.txt and docs/how-to/monitor.md list the same metrics. A test compares
// both with the table.
//
// Thread safety: values and free functions.
#pragma once

#include <prometheus/client_metric.h>
#include <prometheus/metric_family.h>
#include <prometheus/metric_type.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "monitor/bus_monitor.h"
#include "monitor/channel_status.h"
#include "monitor/http/counts.h"
#include "monitor/metrics/bus_metrics.h"

namespace lapwing {

// Metrics that are added together, for one set of label values.
struct Scope {
  const char* labels;  // with commas; "-" for none
};
namespace scope {
inline constexpr Scope kBuild{"version,revision"};
inline constexpr Scope kBus{"bus"};
inline constexpr Scope kBusInfo{"bus,schema,writer"};
inline constexpr Scope kJournalState{"bus,state"};
inline constexpr Scope kRefused{"bus,reason"};
inline constexpr Scope kDropped{"bus,reason"};
inline constexpr Scope kSubscriberInfo{"bus,subscriber,pid,user,wait,policy"};
inline constexpr Scope kSubscriberState{"bus,subscriber,state"};
inline constexpr Scope kSubscriberUp{"bus,subscriber"};
inline constexpr Scope kSubscriberLatency{"bus,subscriber"};
inline constexpr Scope kSubscriber{"bus,subscriber"};
inline constexpr Scope kChannel{"channel,sender"};
inline constexpr Scope kCheckpoint{"bus,fold"};
inline constexpr Scope kRequests{"route,code"};
inline constexpr Scope kRequestTimes{"route"};
inline constexpr Scope kRejected{"reason"};
inline constexpr Scope kServer{"-"};
inline constexpr Scope kView{"bus"};
inline constexpr Scope kSamples{"-"};
inline constexpr Scope kErrors{"reason"};
inline constexpr Scope kProcess{"-"};
}  // namespace scope

// Sums for the two processes of one channel direction, or of several.
struct ChannelSums {
  MessageCount sent;
  MessageCount in_flight;
  std::uint64_t full_waits = 0;
  std::uint64_t empty_waits = 0;
  bool stopped = false;
};

// This process's counts; 0 if a value cannot be read.
struct ProcessCounts {
  double cpu_seconds = 0;
  double resident_bytes = 0;
  std::optional<double> open_fds = {};
  double max_fds = 0;
  double start_seconds = 0;  // since 1970
};

// The sources of a scope's values.
struct MetricSource {
  const BusReading* bus = nullptr;
  const SubscriberStatus* subscriber = nullptr;
  const CheckpointStatus* checkpoint = nullptr;  // with `bus`
  const ChannelSums* channel = nullptr;
  const HttpCounts* http = nullptr;
  const StreamCounts* stream = nullptr;
  const ViewCounts* view = nullptr;
  const ProcessCounts* process = nullptr;
  std::optional<Durations> times = {};
  double number = 1;
};

enum class Unit { kOne, kNs };  // ns are exposed as seconds

struct Metric {
  const char* name;
  prometheus::MetricType type;
  const Scope* scope;
  const char* help;
  // nullopt: this source has no such series.
  std::optional<prometheus::ClientMetric> (*read)(const MetricSource& source);
  Unit unit = Unit::kOne;
};

// metric_table.cc
std::span<const Metric> all_metrics();

// Collects the metrics' series in the Prometheus text format. Thread safety: one thread.
class Exposition {
 public:
  Exposition();

  // Adds a series for each metric in the scope that the source has. Label values may be any text,
  // because they are made printable.
  void add(const Scope& scope, const std::vector<std::string>& values, const MetricSource& source);

  // The text format, version 0.0.4. Nothing can be added after this.
  std::string take_text();

 private:
  std::vector<prometheus::MetricFamily> families_;  // one for each metric in the table
};

}  // namespace lapwing
