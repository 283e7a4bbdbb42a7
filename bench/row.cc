#include "bench/row.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/samples.h"
#include "bench/sign_flip.h"

namespace lapwing::bench {
namespace {

bool floor_stood_still(double before, double after) {
  return std::max(before, after) <= kFloorDriftMax * std::min(before, after);
}

bool within(Bound bound, double ratio, double budget) {
  return bound == Bound::kAtMost ? ratio <= budget : ratio >= budget;
}

}  // namespace

double RowResult::median_ratio() const {
  std::vector<double> ratios;
  for (const Trial& trial : trials) ratios.push_back(trial.ratio);
  return median_of(ratios);
}

double RowResult::worst_placement_ratio() const {
  std::map<std::pair<bool, Distance>, std::vector<double>> ratios;
  for (const Trial& trial : trials) {
    ratios[{trial.swapped, distance(trial)}].push_back(trial.ratio);
  }
  std::optional<double> worst;
  for (const auto& [where, group] : ratios) {
    if (group.size() < kTrialsToJudge) continue;
    const double median = median_of(group);
    const bool worse = !worst || !within(spec.bound, median, *worst);
    if (worse) worst = median;
  }
  return worst.value_or(median_ratio());
}

Distance RowResult::distance(const Trial& trial) const {
  if (!spec.floor_shows_distance) return Distance::kNear;
  double smallest = trial.floor;
  for (const Trial& other : trials) smallest = std::min(smallest, other.floor);
  return trial.floor < kFarFactor * smallest ? Distance::kNear : Distance::kFar;
}

std::vector<double> RowResult::ratios_at(Distance where) const {
  std::vector<double> ratios;
  for (const Trial& trial : trials) {
    if (distance(trial) == where) ratios.push_back(trial.ratio);
  }
  return ratios;
}

std::string RowResult::fault() const {
  for (const Trial& trial : trials) {
    if (!trial.measurement.fault.empty()) return trial.measurement.fault;
  }
  return {};
}

bool RowResult::met() const {
  if (!skipped.empty() || !fault().empty()) return false;
  if (chance) return *chance >= kSignificance;
  return !spec.budget || within(spec.bound, worst_placement_ratio(), *spec.budget);
}

RowResult measure_row(const RowSpec& spec, const std::function<double(Placement)>& floor,
                      const std::function<Measurement(Placement)>& subject) {
  RowResult result;
  result.spec = spec;
  const Placement straight = straight_placement();
  std::optional<double> left;  // the floor after a trial that was rejected, in its placement
  while (static_cast<int>(result.trials.size()) < spec.trials) {
    Trial trial;
    trial.swapped = result.trials.size() % 2 == 1;
    const Placement placement = trial.swapped ? swapped(straight) : straight;
    const double before = left ? *left : floor(placement);
    trial.measurement = subject(placement);
    const double after = floor(placement);
    if (!floor_stood_still(before, after)) {
      if (result.rejections == kRejectionsMax) break;
      ++result.rejections;
      left = after;
      continue;
    }
    left.reset();
    trial.floor = (before + after) / 2;
    trial.ratio = trial.measurement.figure / spec.allowance(trial.floor);
    result.trials.push_back(std::move(trial));
  }
  const std::size_t done = result.trials.size();
  if (done == 0) {
    result.skipped = absl::StrCat("the floor moved by more than a quarter in every one of ",
                                  kRejectionsMax, " trials");
  } else if (static_cast<int>(done) < spec.trials) {
    result.note =
        absl::StrCat("only ", done, " of ", spec.trials, " trials: the floor kept moving");
  }
  return result;
}

RowResult skip_row(const RowSpec& spec, const std::string& why) {
  RowResult result;
  result.spec = spec;
  result.skipped = why;
  return result;
}

}  // namespace lapwing::bench
