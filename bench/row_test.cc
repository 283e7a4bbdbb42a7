#include "bench/row.h"

#include <catch2/catch.hpp>
#include <vector>

#include "bench/row_report.h"

namespace lapwing::bench {
namespace {

RowSpec spec_of(Bound bound, double budget, int trials) {
  RowSpec spec;
  spec.name = "row";
  spec.bound = bound;
  spec.budget = budget;
  spec.trials = trials;
  return spec;
}

// Returns the listed values in turn, then the last one repeatedly.
auto in_turn(std::vector<double> values) {
  return [values, next = std::size_t{0}](Placement) mutable {
    const double value = values[next];
    if (next + 1 < values.size()) ++next;
    return value;
  };
}

auto figures(std::vector<double> values) {
  return [give = in_turn(std::move(values))](Placement placement) mutable {
    Measurement measurement;
    measurement.figure = give(placement);
    return measurement;
  };
}

TEST_CASE("A ratio is the figure over the mean of the two floors around it") {
  const RowResult row =
      measure_row(spec_of(Bound::kAtMost, 1.15, 1), in_turn({90, 110}), figures({120}));
  CHECK(row.median_ratio() == Approx(1.2));
  CHECK(row.rejections == 0);
  CHECK_FALSE(row.met());
}

TEST_CASE("A trial whose floors differ by more than a quarter is repeated and counted") {
  const RowResult row = measure_row(spec_of(Bound::kAtMost, 1.15, 1), in_turn({100, 126, 101}),
                                    figures({1000, 113.5}));
  REQUIRE(row.trials.size() == 1);
  CHECK(row.rejections == 1);
  CHECK(row.median_ratio() == Approx(1.0));
  CHECK(row.met());
}

TEST_CASE("The floor after a rejected trial is reused before its repetition, and only there") {
  int floors = 0;
  const auto count = [&floors, give = in_turn({100, 126, 124, 90, 110})](Placement where) mutable {
    ++floors;
    return give(where);
  };
  const RowResult row =
      measure_row(spec_of(Bound::kAtMost, 1.15, 2), count, figures({1000, 125, 100}));
  REQUIRE(row.trials.size() == 2);
  CHECK(row.trials[0].floor == Approx(125));
  CHECK(row.trials[1].floor == Approx(100));
  CHECK(row.rejections == 1);
  CHECK(floors == 5);
}

TEST_CASE("A row whose floor keeps changing is skipped with a reason") {
  bool high = false;
  const auto restless = [&high](Placement) { return (high = !high) ? 100.0 : 200.0; };
  const RowResult row = measure_row(spec_of(Bound::kAtMost, 1.15, 4), restless, figures({100}));
  CHECK(row.trials.empty());
  CHECK(row.rejections == kRejectionsMax);
  CHECK_FALSE(row.skipped.empty());
  CHECK_FALSE(row.met());
}

TEST_CASE("Trials alternate between the placements and the worse median decides") {
  const RowResult low = measure_row(spec_of(Bound::kAtMost, 1.15, 6), in_turn({100}),
                                    figures({100, 130, 100, 130, 100, 130}));
  CHECK(low.worst_placement_ratio() == Approx(1.3));
  CHECK_FALSE(low.met());
  const RowResult high = measure_row(spec_of(Bound::kAtLeast, 0.8, 6), in_turn({100}),
                                     figures({90, 70, 90, 70, 90, 70}));
  CHECK(high.worst_placement_ratio() == Approx(0.7));
  CHECK_FALSE(high.met());
}

TEST_CASE("Trials on cores far apart are judged separately") {
  RowResult row;
  row.spec = spec_of(Bound::kAtMost, 1.15, 9);
  row.spec.floor_shows_distance = true;
  for (int i = 0; i < 6; ++i) row.trials.push_back({false, 80, 1.0, {}});
  for (int i = 0; i < 3; ++i) row.trials.push_back({false, 390, 1.4, {}});
  CHECK(row.median_ratio() == Approx(1.0));
  CHECK(row.ratios_at(Distance::kFar) == std::vector<double>{1.4, 1.4, 1.4});
  CHECK(row.worst_placement_ratio() == Approx(1.4));
  CHECK_FALSE(row.met());
  row.trials.pop_back();  // two trials are too few for a verdict
  CHECK(row.met());
}

TEST_CASE("Cores far apart have their own budget if the row defines one") {
  RowResult row;
  row.spec = spec_of(Bound::kAtMost, 1.13, 6);
  row.spec.budget_far = 1.02;
  row.spec.floor_shows_distance = true;
  for (int i = 0; i < 3; ++i) row.trials.push_back({false, 80, 1.1, {}});
  for (int i = 0; i < 3; ++i) row.trials.push_back({false, 390, 1.0, {}});
  CHECK(budget_text(row.spec) == "<= 1.13, far <= 1.02");
  CHECK(row.met());
  row.trials[0].ratio = row.trials[1].ratio = 1.14;
  CHECK_FALSE(row.met());
  row.trials[0].ratio = row.trials[1].ratio = 1.1;
  row.trials[3].ratio = row.trials[4].ratio = 1.03;
  CHECK(row.worst_placement_ratio() == Approx(1.1));
  CHECK_FALSE(row.met());
}

TEST_CASE("An absolute budget limits the figure, and the worse placement decides") {
  RowSpec spec = spec_of(Bound::kAtMost, 0, 6);
  spec.budget.reset();
  spec.absolute_budget = {60, "ms", ""};
  CHECK(budget_text(spec) == "<= 60 ms");
  const RowResult met = measure_row(spec, in_turn({40}), figures({59, 60, 59, 60, 59, 60}));
  CHECK(met.met());
  const RowResult missed = measure_row(spec, in_turn({40}), figures({59, 61, 59, 61, 59, 61}));
  CHECK(missed.worst_placement_absolute() == Approx(61));
  CHECK_FALSE(missed.met());
  CHECK_THAT(to_text(missed), Catch::Contains("<= 60 ms (worse placement 61.0): MISSED"));
}

TEST_CASE("An absolute budget of a detail limits that detail, in addition to the ratio's budget") {
  RowSpec spec = spec_of(Bound::kAtMost, 2, 1);
  spec.absolute_budget = {3, "ns", "above bare p50"};
  CHECK(budget_text(spec) == "<= 2, <= 3 ns above bare p50");
  const auto above_by = [](double ns) {
    return [ns](Placement) {
      Measurement measurement;
      measurement.figure = 150;
      measurement.details = {{"above bare p50", ns, "ns"}};
      return measurement;
    };
  };
  CHECK(measure_row(spec, in_turn({100}), above_by(3)).met());
  CHECK_FALSE(measure_row(spec, in_turn({100}), above_by(3.1)).met());
  CHECK_FALSE(measure_row(spec, in_turn({50}), above_by(3)).met());
}

TEST_CASE("One outlier among the trials does not move the verdict") {
  const RowResult row = measure_row(spec_of(Bound::kAtMost, 1.15, 6), in_turn({100}),
                                    figures({100, 100, 900, 100, 100, 100}));
  CHECK(row.met());
}

TEST_CASE("A broken promise fails the row regardless of its ratio") {
  const auto torn = [](Placement) {
    Measurement measurement;
    measurement.figure = 1;
    measurement.fault = "3 torn records";
    return measurement;
  };
  const RowResult row = measure_row(spec_of(Bound::kAtMost, 1.15, 1), in_turn({100}), torn);
  CHECK(row.fault() == "3 torn records");
  CHECK_FALSE(row.met());
}

TEST_CASE("If a row has a chance, the chance decides") {
  RowResult row = measure_row(spec_of(Bound::kAtMost, 1.15, 1), in_turn({100}), figures({900}));
  row.chance = 0.3;
  CHECK(row.met());
  row.chance = 0.01;
  CHECK_FALSE(row.met());
}

TEST_CASE("A row without a budget is never missed") {
  RowSpec spec = spec_of(Bound::kAtLeast, 0, 1);
  spec.budget.reset();
  CHECK(measure_row(spec, in_turn({100}), figures({1})).met());
}

TEST_CASE("A budget with an allowance divides by the floor plus the allowance") {
  RowSpec spec = spec_of(Bound::kAtMost, 1.0, 1);
  spec.allowance = [](double wake_ns) { return 100'000 + 2 * wake_ns; };
  const RowResult row = measure_row(spec, in_turn({10'000}), figures({120'000}));
  CHECK(row.median_ratio() == Approx(1.0));
  CHECK(row.met());
}

}  // namespace
}  // namespace lapwing::bench
