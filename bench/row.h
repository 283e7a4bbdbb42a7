// A row of the table: one thing measured, as a ratio to what this machine charges at that moment.
//
// Virtual cores move: the same ping-pong of one cache line takes three times as long in one minute
// as in the next. So a figure never stands alone. Each trial is floor, subject, floor; its ratio is
// subject over the mean of the two floors; a trial whose floors differ by more than a quarter says
// nothing and is thrown away, counted and repeated; its second floor is the first of the
// repetition. The median of the ratios is held against the budget, for each placement of the two
// sides on the two cores, and apart for the trials in which the cores were near each other and far
// apart: all must meet it. Times in nanoseconds are printed for orientation and decide nothing, but
// where a row has an absolute budget.
//
// Thread safety: one thread; nothing here is shared.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/machine.h"
#include "bench/samples.h"

namespace lapwing::bench {

inline constexpr double kFloorDriftMax = 1.25;  // the larger floor over the smaller
inline constexpr int kRejectionsMax = 20;       // of one row
inline constexpr double kFarFactor = 2;         // a floor this many times the row's smallest is far
inline constexpr std::size_t kTrialsToJudge = 3;  // fewer say nothing about where they were taken

struct Detail {
  std::string name;
  double value;
  std::string unit;
};

// What one run of the subject gave.
struct Measurement {
  double figure = 0;              // compared with the floor, in the row's unit
  std::vector<Detail> details;    // for orientation; the row reports their medians
  std::vector<CurvePoint> curve;  // of durations, from the smallest to the maximum; may be empty
  // The same of whatever shows what the machine does by itself at that pace; may be empty.
  std::vector<CurvePoint> floor_curve;
  std::string fault;  // a broken promise (torn records, say): the row fails
};

enum class Bound { kAtMost, kAtLeast };

// For what is promised in a unit: the most that the figure, or a detail of the measurement, may be.
struct AbsoluteBudget {
  double at_most;
  std::string unit;
  std::string detail;  // its name; empty: the figure
};

struct RowSpec {
  std::string name;   // what --rows takes
  std::string what;   // what a reader of the table is told
  std::string floor;  // what stands before and after each run
  std::string over;   // what the ratio is over, if that is not the floor itself
  std::string unit;   // of figure and floor
  Bound bound = Bound::kAtMost;
  std::optional<double> budget;      // of the ratio; none: held against nothing
  std::optional<double> budget_far;  // of it while the cores are far apart; none: the same
  std::optional<AbsoluteBudget> absolute_budget;  // besides that of the ratio, or alone
  int trials = 10;                                // half of them in each placement
  // The floor is the way of a line between the cores, and so shows how far apart they are.
  bool floor_shows_distance = false;
  // What the figure is divided by, from the floor: the floor itself unless the budget adds to it.
  std::function<double(double)> allowance = [](double value) { return value; };
};

struct Trial {
  bool swapped = false;  // the placement
  double floor = 0;      // mean of the two
  double ratio = 0;
  Measurement measurement;
};

enum class Distance { kNear, kFar };

struct RowResult {
  RowSpec spec;
  std::vector<Trial> trials;
  int rejections = 0;
  double seconds = 0;   // that measuring it took, floors and rejected trials included
  std::string skipped;  // why there is no ratio, empty if there is one
  std::string note;     // what limits the meaning of the ratio
  // For rows that ask whether there is a difference at all: how likely it is to be chance. Then
  // this decides, not the ratio (bench/sign_flip.h).
  std::optional<double> chance;

  double median_ratio() const;
  // The worst median of any placement and distance that has kTrialsToJudge trials; of all trials
  // where none has.
  double worst_placement_ratio() const;
  // The same of what the absolute budget limits; only where there is one.
  double worst_placement_absolute() const;
  Distance distance(const Trial& trial) const;  // kNear where the floor does not show it
  std::vector<double> ratios_at(Distance distance) const;
  std::string fault() const;  // of the first trial that has one
  bool met() const;
};

// Runs the row: spec.trials trials, alternately straight and swapped.
RowResult measure_row(const RowSpec& spec, const std::function<double(Placement)>& floor,
                      const std::function<Measurement(Placement)>& subject);

// A row that could not be measured here, and why.
RowResult skip_row(const RowSpec& spec, const std::string& why);

}  // namespace lapwing::bench
