// Runs every row briefly. Does not check times, only that there is a ratio or a reason for its
// absence, that no promise was broken, and that README.md contains the row's budget.
#include "bench/rows.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"

#include "bench/bench_bus.h"
#include "bench/one_way.h"
#include "bench/private_directory.h"
#include "bench/row_report.h"

namespace lapwing::bench {
namespace {

// {row: its budget} from the table of rows in README.md. Abbreviated names ("-100k") are skipped.
std::map<std::string, std::string> budgets_in_readme() {
  std::map<std::string, std::string> budgets;
  std::ifstream readme(LAPWING_BENCH_README);
  bool in_rows = false;  // other tables have other contents
  for (std::string line; std::getline(readme, line);) {
    if (line.starts_with("## ")) in_rows = line == "## Rows";
    if (!in_rows) continue;
    const std::vector<std::string> cells = absl::StrSplit(line, '|');
    if (cells.size() != 6) continue;  // row, what, over, budget, plus both ends
    const std::vector<std::string> names = absl::StrSplit(cells[1], '`');
    for (std::size_t i = 1; i < names.size(); i += 2) {
      budgets[names[i]] = std::string(absl::StripAsciiWhitespace(cells[4]));
    }
  }
  return budgets;
}

void check_budget(const RowSpec& spec, const std::map<std::string, std::string>& budgets) {
  const auto found = budgets.find(spec.name);
  const std::string budget = found == budgets.end() ? "none" : found->second;
  if (budget != "no significant difference") CHECK(budget_text(spec) == budget);
}

TEST_CASE("Every row returns a ratio or the reason why it cannot") {
  const PrivateDirectory shm("/dev/shm");
  const PrivateDirectory disk(std::filesystem::temp_directory_path().string());
  const Setting setting{shm.path(), disk.path(), true};
  const std::map<std::string, std::string> budgets = budgets_in_readme();
  REQUIRE(budgets.contains("round-trip"));
  for (const Row& row : all_rows()) {
    const RowResult result = row.run(setting);
    CAPTURE(row.name, to_text(result));
    CHECK(result.spec.name == row.name);
    CHECK(result.fault().empty());
    check_budget(result.spec, budgets);
    if (!result.skipped.empty()) {
      WARN("SKIPPED: " << row.name << ": " << result.skipped);
      continue;
    }
    CHECK(std::isfinite(result.median_ratio()));
    CHECK(result.median_ratio() >= 0);
  }
}

// Checks that {fraction, ns} exists for each share, and that ns never decreases.
void check_curve(const nlohmann::json& curve) {
  REQUIRE(curve.size() == kCurveFractions.size());
  for (std::size_t i = 0; i < curve.size(); ++i) {
    CHECK(curve[i][0] == kCurveFractions[i]);
    if (i > 0) CHECK(curve[i][1] >= curve[i - 1][1]);
  }
  CHECK(curve.back()[1] > 0);
}

TEST_CASE("Each trial of a one-way row includes bare lines at its pace") {
  if (!has_two_cores()) {
    WARN("SKIPPED: needs two cores");
    return;
  }
  const PrivateDirectory shm("/dev/shm");
  const Setting setting{shm.path(), shm.path(), true};
  const auto row = nlohmann::json::parse(to_json_line(run_one_way_100k(setting)));
  CAPTURE(row.dump());
  REQUIRE(row.contains("trials"));
  for (const nlohmann::json& trial : row["trials"]) {
    check_curve(trial["curve"]);
    check_curve(trial["floor_curve"]);
    const nlohmann::json& details = trial["details"];
    CHECK(details["bare p50"] == trial["floor_curve"][4][1]);
    CHECK(details["bare max"] == trial["floor_curve"].back()[1]);
    CHECK(details["bare p50"] <= details["bare p99"]);
    CHECK(details["bare p99"] <= details["bare p99.9"]);
  }
}

// The rate is too high for any writer, so the reader is the limit.
TEST_CASE("Bare lines carry every record, in order and whole, beyond a lap") {
  if (!has_two_cores()) {
    WARN("SKIPPED: needs two cores");
    return;
  }
  const PrivateDirectory shm("/dev/shm");
  const Setting setting{shm.path(), shm.path(), true};
  const std::size_t records = 5 * capacity_for(setting) + 7;
  const Passage passage = over_lines(setting, straight_placement(), Schedule::steady(records, 1e9));
  CHECK(passage.fault.empty());
  CHECK(passage.lost == 0);
  CHECK(passage.ns_at(1) > 0);
}

}  // namespace
}  // namespace lapwing::bench
