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

double ratio_of(const Trial& trial) {
  return trial.ratio;
}

double value_of(const AbsoluteBudget& budget, const Trial& trial) {
  if (budget.detail.empty()) return trial.measurement.figure;
  for (const Detail& detail : trial.measurement.details) {
    if (detail.name == budget.detail) return detail.value;
  }
  fail(absl::StrCat("a budget refers to a detail that is not measured: ", budget.detail));
}

struct Judged {
  Distance where;
  double median;
};

// The medians of each placement and distance with at least kTrialsToJudge trials. If there are
// none, the median of all trials, treated as near.
template <typename Value>
std::vector<Judged> judged(const RowResult& row, const Value& value) {
  std::map<std::pair<bool, Distance>, std::vector<double>> groups;
  std::vector<double> all;
  for (const Trial& trial : row.trials) {
    groups[{trial.swapped, row.distance(trial)}].push_back(value(trial));
    all.push_back(value(trial));
  }
  std::vector<Judged> medians;
  for (const auto& [where, group] : groups) {
    if (group.size() >= kTrialsToJudge) medians.push_back({where.second, median_of(group)});
  }
  if (medians.empty()) medians.push_back({Distance::kNear, median_of(all)});
  return medians;
}

template <typename Value>
double worst(const RowResult& row, Bound bound, const Value& value) {
  const std::vector<Judged> medians = judged(row, value);
  double found = medians.front().median;
  for (const Judged& one : medians) {
    if (!within(bound, one.median, found)) found = one.median;
  }
  return found;
}

bool ratios_met(const RowResult& row) {
  if (!row.spec.budget) return true;
  for (const auto& [where, median] : judged(row, ratio_of)) {
    const bool far = where == Distance::kFar && row.spec.budget_far;
    if (!within(row.spec.bound, median, far ? *row.spec.budget_far : *row.spec.budget)) {
      return false;
    }
  }
  return true;
}

}  // namespace

double RowResult::median_ratio() const {
  std::vector<double> ratios;
  for (const Trial& trial : trials) ratios.push_back(trial.ratio);
  return median_of(ratios);
}

double RowResult::worst_placement_ratio() const {
  return worst(*this, spec.bound, ratio_of);
}

double RowResult::worst_placement_absolute() const {
  return worst(*this, Bound::kAtMost,
               [&](const Trial& trial) { return value_of(*spec.absolute_budget, trial); });
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
  const auto& absolute = spec.absolute_budget;
  return ratios_met(*this) && (!absolute || worst_placement_absolute() <= absolute->at_most);
}

RowResult measure_row(const RowSpec& spec, const std::function<double(Placement)>& floor,
                      const std::function<Measurement(Placement)>& subject) {
  RowResult result;
  result.spec = spec;
  const Placement straight = straight_placement();
  std::optional<double> left;  // floor after a rejected trial, in its placement
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
    result.skipped = absl::StrCat("the floor changed by more than a quarter in each of ",
                                  kRejectionsMax, " trials");
  } else if (static_cast<int>(done) < spec.trials) {
    result.note = absl::StrCat("only ", done, " of ", spec.trials,
                               " trials, because the floor kept changing");
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
