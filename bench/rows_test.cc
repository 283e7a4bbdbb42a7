// Every row runs for a moment. Nothing is asserted about time: only that there is a ratio, or a
// stated reason why not, and that no promise was broken.
#include "bench/rows.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "bench/bench_bus.h"
#include "bench/one_way.h"
#include "bench/private_directory.h"
#include "bench/row_report.h"

namespace lapwing::bench {
namespace {

TEST_CASE("Every row gives a ratio or says why it cannot") {
  const PrivateDirectory shm("/dev/shm");
  const PrivateDirectory disk(std::filesystem::temp_directory_path().string());
  const Setting setting{shm.path(), disk.path(), true};
  for (const Row& row : all_rows()) {
    const RowResult result = row.run(setting);
    CAPTURE(row.name, to_text(result));
    CHECK(result.spec.name == row.name);
    CHECK(result.fault().empty());
    if (!result.skipped.empty()) {
      WARN("SKIPPED: " << row.name << ": " << result.skipped);
      continue;
    }
    CHECK(std::isfinite(result.median_ratio()));
    CHECK(result.median_ratio() >= 0);
  }
}

// {fraction, ns} of each share, none below the one before it.
void check_curve(const nlohmann::json& curve) {
  REQUIRE(curve.size() == kCurveFractions.size());
  for (std::size_t i = 0; i < curve.size(); ++i) {
    CHECK(curve[i][0] == kCurveFractions[i]);
    if (i > 0) CHECK(curve[i][1] >= curve[i - 1][1]);
  }
  CHECK(curve.back()[1] > 0);
}

TEST_CASE("Each trial of a one-way row tells what bare lines did at its pace") {
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

// At a rate that no writer keeps up with, so that it is the reader that holds it up.
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
