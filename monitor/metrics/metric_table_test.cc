// deploy/monitoring/metrics.txt lists the metrics in the table.
#include "monitor/metrics/exposition.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace lapwing {
namespace {

std::string text_of(const std::string& file) {
  std::ifstream stream(absl::StrCat(LAPWING_SOURCE_DIRECTORY, "/", file));
  REQUIRE(stream.good());
  return {std::istreambuf_iterator<char>(stream), {}};
}

const char* type_of(const Metric& metric) {
  switch (metric.type) {
    case prometheus::MetricType::Counter:
      return "counter";
    case prometheus::MetricType::Gauge:
      return "gauge";
    default:
      return "histogram";
  }
}

TEST_CASE("metrics.txt has a line for each metric of the table") {
  std::vector<std::string> lines;
  for (const Metric& metric : all_metrics()) {
    lines.push_back(absl::StrCat(metric.name, "  ", type_of(metric), "  ", metric.scope->labels,
                                 "  ", metric.help));
  }
  std::vector<std::string> listed;
  for (const std::string& line :
       std::vector<std::string>(absl::StrSplit(text_of("deploy/monitoring/metrics.txt"), '\n'))) {
    if (!line.empty() && !absl::StartsWith(line, "#")) listed.push_back(line);
  }
  CHECK(listed == lines);
}

}  // namespace
}  // namespace lapwing
