#include "bench/row.h"

#include <catch2/catch.hpp>
#include <vector>

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

// Gives the listed values in turn, the last one for ever.
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

TEST_CASE("The floor after a rejected trial is the one before its repetition, and of no other") {
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

TEST_CASE("A floor that never stands still leaves the row unmeasured and says so") {
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

TEST_CASE("Cores that were far apart for a while are judged by themselves") {
  RowResult row;
  row.spec = spec_of(Bound::kAtMost, 1.15, 9);
  row.spec.floor_shows_distance = true;
  for (int i = 0; i < 6; ++i) row.trials.push_back({false, 80, 1.0, {}});
  for (int i = 0; i < 3; ++i) row.trials.push_back({false, 390, 1.4, {}});
  CHECK(row.median_ratio() == Approx(1.0));
  CHECK(row.ratios_at(Distance::kFar) == std::vector<double>{1.4, 1.4, 1.4});
  CHECK(row.worst_placement_ratio() == Approx(1.4));
  CHECK_FALSE(row.met());
  row.trials.pop_back();  // two trials are too few to judge by
  CHECK(row.met());
}

TEST_CASE("One outlier among the trials does not move the verdict") {
  const RowResult row = measure_row(spec_of(Bound::kAtMost, 1.15, 6), in_turn({100}),
                                    figures({100, 100, 900, 100, 100, 100}));
  CHECK(row.met());
}

TEST_CASE("A broken promise fails the row whatever its ratio") {
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

TEST_CASE("Where the question is whether there is a difference, chance decides") {
  RowResult row = measure_row(spec_of(Bound::kAtMost, 1.15, 1), in_turn({100}), figures({900}));
  row.chance = 0.3;
  CHECK(row.met());
  row.chance = 0.01;
  CHECK_FALSE(row.met());
}

TEST_CASE("A row without a budget is held against nothing") {
  RowSpec spec = spec_of(Bound::kAtLeast, 0, 1);
  spec.budget.reset();
  CHECK(measure_row(spec, in_turn({100}), figures({1})).met());
}

TEST_CASE("A budget that adds to the floor divides by what it allows") {
  RowSpec spec = spec_of(Bound::kAtMost, 1.0, 1);
  spec.allowance = [](double wake_ns) { return 100'000 + 2 * wake_ns; };
  const RowResult row = measure_row(spec, in_turn({10'000}), figures({120'000}));
  CHECK(row.median_ratio() == Approx(1.0));
  CHECK(row.met());
}

}  // namespace
}  // namespace lapwing::bench
