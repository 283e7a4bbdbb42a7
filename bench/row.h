// A row of the table: one measurement, as a ratio to a floor of this machine at the same moment.
//
// Virtual cores move: the same ping-pong of one cache line may take three times as long a minute
// later. Therefore figures are always compared with a floor. Each trial is floor, subject, floor.
// Its ratio is the subject divided by the mean of the two floors. If the floors differ by more than
// a quarter, the trial is rejected, counted and repeated; its second floor is the first of the
// repetition. The median of the ratios is compared with the budget for each placement of the two
// sides, separately for trials with near and with far cores. All of them must meet it. Times in
// nanoseconds are printed only for orientation, unless a row has an absolute budget.
//
// Thread safety: one thread. Nothing is shared.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/machine.h"
#include "bench/samples.h"

namespace lapwing::bench {

inline constexpr double kFloorDriftMax = 1.25;  // larger floor divided by the smaller
inline constexpr int kRejectionsMax = 20;       // per row
inline constexpr double kFarFactor = 2;         // multiple of the row's smallest floor that is far
inline constexpr std::size_t kTrialsToJudge = 3;  // fewer do not represent a placement

struct Detail {
  std::string name;
  double value;
  std::string unit;
};

// The result of one run of the subject.
struct Measurement {
  double figure = 0;              // in the row's unit; compared with the floor
  std::vector<Detail> details;    // for orientation; the row reports their medians
  std::vector<CurvePoint> curve;  // durations from the minimum to the maximum; may be empty
  // The same for a load that shows only the machine at that pace; may be empty.
  std::vector<CurvePoint> floor_curve;
  std::string fault;  // a broken promise, for example torn records: the row fails
};

enum class Bound { kAtMost, kAtLeast };

// An absolute limit for the figure or for a detail of the measurement.
struct AbsoluteBudget {
  double at_most;
  std::string unit;
  std::string detail;  // name of the detail; empty: the figure
};

struct RowSpec {
  std::string name;   // argument of --rows
  std::string what;   // description in the table
  std::string floor;  // measured before and after each run
  std::string over;   // denominator of the ratio, if it is not the floor
  std::string unit;   // of figure and floor
  Bound bound = Bound::kAtMost;
  std::optional<double> budget;      // limit of the ratio; nullopt: no limit
  std::optional<double> budget_far;  // limit while the cores are far apart; nullopt: the same
  std::optional<AbsoluteBudget> absolute_budget;  // in addition to the ratio's budget, or instead
  int trials = 10;                                // half of them in each placement
  // The floor is a round trip between the cores, and therefore shows their distance.
  bool floor_shows_distance = false;
  // The denominator of the ratio as a function of the floor: the floor itself, unless the budget
  // adds to it.
  std::function<double(double)> allowance = [](double value) { return value; };
};

struct Trial {
  bool swapped = false;  // the placement is swapped
  double floor = 0;      // mean of the two floors
  double ratio = 0;
  Measurement measurement;
};

enum class Distance { kNear, kFar };

struct RowResult {
  RowSpec spec;
  std::vector<Trial> trials;
  int rejections = 0;
  double seconds = 0;   // duration of the measurement, including floors and rejected trials
  std::string skipped;  // reason for the missing ratio; empty if there is one
  std::string note;     // limitation of the ratio's meaning
  // For rows that test for any difference: the probability that it is chance. It is used instead of
  // the ratio (bench/sign_flip.h).
  std::optional<double> chance;

  double median_ratio() const;
  // The worst median of a placement and distance with at least kTrialsToJudge trials; of all trials
  // if there are none.
  double worst_placement_ratio() const;
  // The same for the value that the absolute budget limits. Only for rows that have such a budget.
  double worst_placement_absolute() const;
  Distance distance(const Trial& trial) const;  // kNear if the floor does not show it
  std::vector<double> ratios_at(Distance distance) const;
  std::string fault() const;  // first fault of a trial
  bool met() const;
};

// Runs spec.trials trials of the row, alternately straight and swapped.
RowResult measure_row(const RowSpec& spec, const std::function<double(Placement)>& floor,
                      const std::function<Measurement(Placement)>& subject);

// A row that could not be measured here, with the reason.
RowResult skip_row(const RowSpec& spec, const std::string& why);

}  // namespace lapwing::bench
