// One-way rows under paced load. See one_way.h for the age of a record. Each trial runs the same
// load over bare cache lines directly before, so that both see the same state of the machine. A
// tail that occurs in both is not caused by the bus.
#include "bench/one_way.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/bench_bus.h"
#include "bench/floor.h"
#include "bench/pace.h"
#include "bench/recorded_feed.h"
#include "bench/rows.h"

namespace lapwing::bench {
namespace {

constexpr double kLoadSeconds = 2;
constexpr double kLoadSecondsQuick = 0.02;
constexpr std::size_t kFloorRoundTrips = 64'000;
constexpr std::size_t kBurstRecordsQuick = 2'000;
constexpr std::uint64_t kSilenceNs = 50'000;  // recorded silences are shortened to this
constexpr const char* kAboveBare = "above bare p50";

Measurement one_way(const Setting& setting, Placement placement, const Schedule& schedule) {
  const Passage bare = over_lines(setting, placement, schedule);
  const Passage bus = over_bus(setting, placement, schedule);
  Measurement measurement;
  measurement.figure = bus.ns_at(0.5);
  measurement.curve.assign(bus.curve.begin(), bus.curve.end());
  measurement.floor_curve.assign(bare.curve.begin(), bare.curve.end());
  measurement.details = {{"p99", bus.ns_at(0.99), "ns"},
                         {"p99.9", bus.ns_at(0.999), "ns"},
                         {"p99.99", bus.ns_at(0.9999), "ns"},
                         {"max", bus.ns_at(1), "ns"},
                         {"over 10 us", bus.slow_per_million, "a million"},
                         {"publisher late by at most", bus.publisher_late_ns, "ns"},
                         {"lost", static_cast<double>(bus.lost), ""},
                         {"bare p50", bare.ns_at(0.5), "ns"},
                         {kAboveBare, bus.ns_at(0.5) - bare.ns_at(0.5), "ns"},
                         {"bare p99", bare.ns_at(0.99), "ns"},
                         {"bare p99.9", bare.ns_at(0.999), "ns"},
                         {"bare max", bare.ns_at(1), "ns"}};
  measurement.fault = bus.fault;
  if (!bare.fault.empty()) measurement.fault = absl::StrCat("bare lines: ", bare.fault);
  return measurement;
}

RowSpec spec_of(const Setting& setting, const std::string& name, const std::string& load) {
  RowSpec spec;
  spec.name = name;
  spec.what =
      absl::StrCat("one way, from the due time of a record until all of it is read, ", load);
  spec.floor = "walk";
  spec.over = "(walk / 2)";
  spec.allowance = [](double walk) { return walk / 2; };
  spec.floor_shows_distance = true;
  spec.unit = "ns";
  spec.trials = setting.trials(6);
  return spec;
}

// Limits what the bus adds to the machine's median in the same trial.
AbsoluteBudget above_bare() {
  return {3, "ns", kAboveBare};
}

RowResult run(const Setting& setting, const RowSpec& spec, const Schedule& schedule) {
  if (!has_two_cores()) return skip_row(spec, "needs two cores");
  const std::size_t round_trips = setting.count(kFloorRoundTrips) / 64 * 64;
  return measure_row(
      spec,
      [&](Placement placement) { return walk_ns(placement, capacity_for(setting), round_trips); },
      [&](Placement placement) { return one_way(setting, placement, schedule); });
}

RowResult run_steady(const Setting& setting, RowSpec spec, double per_second) {
  const double seconds = setting.quick ? kLoadSecondsQuick : kLoadSeconds;
  const auto records = static_cast<std::size_t>(seconds * per_second);
  return run(setting, spec, Schedule::steady(records, per_second));
}

}  // namespace

RowResult run_one_way_10k(const Setting& setting) {
  return run_steady(setting, spec_of(setting, "one-way-10k", "10 thousand a second"), 1e4);
}

RowResult run_one_way_100k(const Setting& setting) {
  return run_steady(setting, spec_of(setting, "one-way-100k", "100 thousand a second"), 1e5);
}

RowResult run_one_way_1m(const Setting& setting) {
  RowSpec spec = spec_of(setting, "one-way-1m", "a million a second");
  spec.absolute_budget = above_bare();
  return run_steady(setting, spec, 1e6);
}

RowResult run_one_way_5m(const Setting& setting) {
  RowSpec spec = spec_of(setting, "one-way-5m", "5 million a second");
  spec.absolute_budget = above_bare();
  return run_steady(setting, spec, 5e6);
}

RowResult run_one_way_bursts(const Setting& setting) {
  const RowSpec spec = spec_of(setting, "one-way-bursts",
                               "in the bursts of the real ES file, silences cut to 50 us");
  const std::optional<std::vector<dbn::MboMsg>> recorded = recorded_orders();
  if (!recorded) return skip_row(spec, kNoRecordedFeed);
  std::vector<std::uint64_t> arrivals = arrivals_ns(*recorded, kSilenceNs);
  if (setting.quick) arrivals.resize(std::min(arrivals.size(), kBurstRecordsQuick));
  return run(setting, spec, Schedule::recorded(std::move(arrivals)));
}

}  // namespace lapwing::bench
