#include "monitor/metrics/families.h"

#include <prometheus/text_serializer.h>

#include "os/kernel.h"
#include "os/printable.h"

namespace lapwing {

prometheus::ClientMetric& Families::add(prometheus::MetricType type, const char* name,
                                        const char* help, const MetricLabels& labels) {
  const auto [at, is_new] = index_.try_emplace(name, families_.size());
  if (is_new) families_.push_back({name, help, type, {}});
  prometheus::ClientMetric& metric = families_[at->second].metric.emplace_back();
  for (const auto& [label, value] : labels) metric.label.push_back({label, printable(value)});
  return metric;
}

void Families::gauge(const char* name, const char* help, const MetricLabels& labels, double value) {
  add(prometheus::MetricType::Gauge, name, help, labels).gauge.value = value;
}

void Families::counter(const char* name, const char* help, const MetricLabels& labels,
                       double value) {
  add(prometheus::MetricType::Counter, name, help, labels).counter.value = value;
}

void Families::histogram(const char* name, const char* help, const MetricLabels& labels,
                         const Durations& durations) {
  prometheus::ClientMetric::Histogram histogram;
  histogram.sample_sum = seconds_of(durations.sum_ns);
  // The last count is of all that are longer: the serialiser's +Inf.
  for (std::size_t i = 0; i < kDurationCounts; ++i) {
    histogram.sample_count += durations.counts[i];
    if (i + 1 == kDurationCounts) break;
    histogram.bucket.push_back({histogram.sample_count, seconds_of(duration_limit_ns(i))});
  }
  this->histogram(name, help, labels, std::move(histogram));
}

void Families::histogram(const char* name, const char* help, const MetricLabels& labels,
                         prometheus::ClientMetric::Histogram histogram) {
  add(prometheus::MetricType::Histogram, name, help, labels).histogram = std::move(histogram);
}

std::string Families::text() const {
  return prometheus::TextSerializer().Serialize(families_);
}

}  // namespace lapwing
