// Metric families under construction, written by prometheus-cpp's serialiser.
//
// Thread safety: one thread.
#pragma once

#include <prometheus/metric_family.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "proto/ring_counters.h"

namespace lapwing {

using MetricLabels = std::vector<std::pair<std::string, std::string>>;

// Values that were counted elsewhere. A family has the help that it was first given. Label values
// may be anything: they are made printable.
class Families {
 public:
  void gauge(const char* name, const char* help, const MetricLabels& labels, double value);
  void counter(const char* name, const char* help, const MetricLabels& labels, double value);
  // In seconds.
  void histogram(const char* name, const char* help, const MetricLabels& labels,
                 const Durations& durations);
  void histogram(const char* name, const char* help, const MetricLabels& labels,
                 prometheus::ClientMetric::Histogram histogram);

  // The text format of Prometheus, version 0.0.4.
  std::string text() const;

 private:
  prometheus::ClientMetric& add(prometheus::MetricType type, const char* name, const char* help,
                                const MetricLabels& labels);

  std::vector<prometheus::MetricFamily> families_;
  std::map<std::string, std::size_t> index_;
};

}  // namespace lapwing
