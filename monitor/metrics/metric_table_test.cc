// The lists of metrics in deploy/monitoring/metrics.txt and docs/how-to/monitor.md are the table's.
#include "monitor/metrics/exposition.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
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

// Labels, and whether it is a histogram.
using Listed = std::map<std::string, std::pair<std::string, bool>>;

// A row of the document has one metric or more: | `a`, `b` h | bus, state | …
void add_row(const std::string& row, Listed& listed) {
  const std::vector<std::string> cells = absl::StrSplit(row, '|');
  REQUIRE(cells.size() > 3);
  const std::vector<std::string> parts = absl::StrSplit(cells[1], '`');
  for (std::size_t i = 1; i < parts.size(); i += 2) {
    const std::string labels = absl::StrReplaceAll(cells[2], {{" ", ""}});
    listed[absl::StrCat("lapwing_", parts[i])] = {labels.empty() ? "-" : labels,
                                                  absl::StartsWith(parts[i + 1], " h")};
  }
}

TEST_CASE("The document lists each metric with its labels") {
  const std::string document = text_of("docs/how-to/monitor.md");
  const std::size_t begin = document.find("### Metrics");
  const std::string section = document.substr(begin, document.find("\n## ", begin) - begin);
  Listed listed;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(section, '\n'))) {
    if (absl::StartsWith(line, "| `") && !absl::StartsWith(line, "| `lapwing_…`")) {
      add_row(line, listed);
    }
  }
  Listed expected;
  for (const Metric& metric : all_metrics()) {
    if (absl::StartsWith(metric.name, "process_")) {
      CHECK(section.find(absl::StrCat("`", metric.name, "`")) != std::string::npos);
    } else {
      expected[metric.name] = {metric.scope->labels, std::string(type_of(metric)) == "histogram"};
    }
  }
  CHECK(listed == expected);
}

}  // namespace
}  // namespace lapwing
