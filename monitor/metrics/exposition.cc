#include "monitor/metrics/exposition.h"

#include <prometheus/text_serializer.h>

#include <optional>
#include <utility>

#include "absl/strings/str_split.h"
#include "os/kernel.h"
#include "os/printable.h"

namespace lapwing {

Exposition::Exposition() {
  for (const Metric& metric : all_metrics()) {
    families_.push_back({metric.name, metric.help, metric.type, {}});
  }
}

void Exposition::add(const Scope& scope, const std::vector<std::string>& values,
                     const MetricSource& source) {
  const std::vector<std::string> names = absl::StrSplit(scope.labels, ',');
  for (std::size_t i = 0; i < families_.size(); ++i) {
    const Metric& metric = all_metrics()[i];
    if (metric.scope != &scope) continue;
    std::optional<prometheus::ClientMetric> series = metric.read(source);
    if (!series) continue;
    if (metric.unit == Unit::kNs) series->gauge.value /= double{kNsPerSecond};
    for (std::size_t label = 0; label < values.size(); ++label) {
      series->label.push_back({names[label], printable(values[label])});
    }
    families_[i].metric.push_back(*std::move(series));
  }
}

std::string Exposition::take_text() {
  std::erase_if(families_, [](const auto& family) { return family.metric.empty(); });
  return prometheus::TextSerializer().Serialize(families_);
}

}  // namespace lapwing
