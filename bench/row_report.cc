#include "bench/row_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "bench/samples.h"

namespace lapwing::bench {
namespace {

template <typename Pick>
double median_over(const RowResult& row, Pick&& pick) {
  std::vector<double> values;
  for (const Trial& trial : row.trials) values.push_back(pick(trial));
  return median_of(values);
}

const std::string& over(const RowSpec& spec) {
  return spec.over.empty() ? spec.floor : spec.over;
}

std::string number(double value) {
  return absl::StrFormat("%.*f", value < 10 ? 2 : value < 1000 ? 1 : 0, value);
}

// The budget and whether it was met, or another result of the row.
std::string verdict(const RowResult& row) {
  if (!row.fault().empty()) return absl::StrCat("FAULT: ", row.fault());
  const char* const met = row.met() ? "met" : "MISSED";
  if (row.chance) {
    return absl::StrFormat("no significant difference (chance of this one %.3f): %s", *row.chance,
                           met);
  }
  if (!row.spec.budget && !row.spec.absolute_budget) return "no budget";
  const std::string worst =
      row.spec.absolute_budget
          ? absl::StrCat(" (worse placement ", number(row.worst_placement_absolute()), ")")
          : "";
  return absl::StrCat(budget_text(row.spec), worst, ": ", met);
}

// Both medians, if the cores were near in some trials and far apart in others.
std::string by_distance(const RowResult& row) {
  const std::vector<double> near = row.ratios_at(Distance::kNear);
  const std::vector<double> far = row.ratios_at(Distance::kFar);
  if (far.empty()) return "";
  return absl::StrFormat("    cores near each other %.3f (%d trials), far apart %.3f (%d trials)\n",
                         median_of(near), near.size(), median_of(far), far.size());
}

std::string rejected(const RowResult& row) {
  return row.rejections == 0 ? "" : absl::StrCat(", ", row.rejections, " rejected");
}

nlohmann::ordered_json object_of(const RowResult& row, const Trial& trial) {
  nlohmann::ordered_json object = {{"swapped", trial.swapped},
                                   {"ratio", trial.ratio},
                                   {"measured", trial.measurement.figure},
                                   {"floor", trial.floor},
                                   {"far", row.distance(trial) == Distance::kFar}};
  for (const Detail& detail : trial.measurement.details) {
    object["details"][detail.name] = detail.value;
  }
  for (const CurvePoint& point : trial.measurement.curve) {
    object["curve"].push_back({point.fraction, point.ns});
  }
  for (const CurvePoint& point : trial.measurement.floor_curve) {
    object["floor_curve"].push_back({point.fraction, point.ns});
  }
  return object;
}

nlohmann::ordered_json object_of(const RowResult& row) {
  nlohmann::ordered_json object = {{"name", row.spec.name}, {"what", row.spec.what}};
  object["seconds"] = row.seconds;
  object["rejections"] = row.rejections;
  if (!row.skipped.empty()) {
    object["skipped"] = row.skipped;
    return object;
  }
  object["over"] = over(row.spec);
  object["unit"] = row.spec.unit;
  object["ratio"] = row.median_ratio();
  object["ratio_worse_placement"] = row.worst_placement_ratio();
  object["bound"] = row.spec.bound == Bound::kAtMost ? "at most" : "at least";
  if (row.spec.budget) object["budget"] = *row.spec.budget;
  if (row.spec.budget_far) object["budget_far"] = *row.spec.budget_far;
  if (const auto& absolute = row.spec.absolute_budget) {
    object["absolute_budget"] = {{"at_most", absolute->at_most},
                                 {"unit", absolute->unit},
                                 {"detail", absolute->detail},
                                 {"worse_placement", row.worst_placement_absolute()}};
  }
  if (row.chance) object["chance"] = *row.chance;
  if (row.spec.budget || row.spec.absolute_budget || row.chance) object["met"] = row.met();
  if (!row.fault().empty()) object["fault"] = row.fault();
  if (!row.note.empty()) object["note"] = row.note;
  for (const Detail& detail : median_details(row)) {
    object["medians"][detail.name] = {{"value", detail.value}, {"unit", detail.unit}};
  }
  for (const Trial& trial : row.trials) object["trials"].push_back(object_of(row, trial));
  return object;
}

}  // namespace

std::string budget_text(const RowSpec& spec) {
  const char* const bound = spec.bound == Bound::kAtMost ? "<=" : ">=";
  std::vector<std::string> parts;
  if (spec.budget) parts.push_back(absl::StrFormat("%s %g", bound, *spec.budget));
  if (spec.budget_far) parts.push_back(absl::StrFormat("far %s %g", bound, *spec.budget_far));
  if (const auto& absolute = spec.absolute_budget) {
    const std::string& detail = absolute->detail;
    parts.push_back(absl::StrFormat("<= %g %s%s%s", absolute->at_most, absolute->unit,
                                    detail.empty() ? "" : " ", detail));
  }
  return parts.empty() ? "none" : absl::StrJoin(parts, ", ");
}

std::vector<Detail> median_details(const RowResult& row) {
  std::vector<Detail> details;
  if (row.trials.empty()) return details;
  details.push_back({"measured",
                     median_over(row, [](const Trial& t) { return t.measurement.figure; }),
                     row.spec.unit});
  details.push_back(
      {row.spec.floor, median_over(row, [](const Trial& t) { return t.floor; }), row.spec.unit});
  const std::vector<Detail>& first = row.trials.front().measurement.details;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const auto pick = [i](const Trial& t) { return t.measurement.details[i].value; };
    details.push_back({first[i].name, median_over(row, pick), first[i].unit});
  }
  return details;
}

std::string to_text(const RowResult& row) {
  std::string text = absl::StrFormat("%-26s", row.spec.name);
  if (!row.skipped.empty()) {
    return absl::StrCat(text, "SKIPPED: ", row.skipped, "\n    ", row.spec.what, "\n");
  }
  const auto [low, high] =
      std::minmax_element(row.trials.begin(), row.trials.end(),
                          [](const Trial& a, const Trial& b) { return a.ratio < b.ratio; });
  absl::StrAppendFormat(&text, "%.3f (%.3f to %.3f) x %s, worse placement %.3f   %s%s\n",
                        row.median_ratio(), low->ratio, high->ratio, over(row.spec),
                        row.worst_placement_ratio(), verdict(row), rejected(row));
  absl::StrAppend(&text, by_distance(row));
  if (!row.note.empty()) absl::StrAppend(&text, "    note: ", row.note, "\n");
  absl::StrAppend(&text, "    ", row.spec.what, "\n");
  const char* separator = "    ";
  for (const Detail& detail : median_details(row)) {
    absl::StrAppendFormat(&text, "%s%s %s %s", separator, detail.name, number(detail.value),
                          detail.unit);
    separator = "; ";
  }
  return text + "\n";
}

std::string to_json(const std::vector<RowResult>& rows) {
  nlohmann::ordered_json array = nlohmann::ordered_json::array();
  for (const RowResult& row : rows) array.push_back(object_of(row));
  return array.dump(2);
}

std::string to_json_line(const RowResult& row) {
  return object_of(row).dump();
}

}  // namespace lapwing::bench
