// The cost of subscribers for the publisher, and the age of records on arrival, for 1 to 64
// subscribers with each wait strategy, compared with as many strangers that wait in the same way.
#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "bench/bench_bus.h"
#include "bench/crowd.h"
#include "bench/pace.h"
#include "bench/rows.h"
#include "bench/samples.h"
#include "bench/stamped_record.h"
#include "os/kernel.h"

namespace lapwing::bench {
namespace {

constexpr std::size_t kBursts = 4'000;
constexpr std::size_t kBurst = 16;  // records due at the same time and timed together
constexpr double kPacePerSecond = 1e5;
constexpr double kSlowNs = 10'000;

// The figure is the publishing thread's median time per record, in nanoseconds.
Measurement publish_beside(const Setting& setting, Placement placement, CrowdSpec spec) {
  const PrivateDirectory directory(setting.ring_directory);
  spec.cores = cores_beside(placement);
  spec.directory = directory.path();
  const Crowd crowd(spec);
  const auto publisher = open_publisher(setting, placement, directory.path(), Journal::kNone);
  crowd.await_members();
  const std::size_t bursts = setting.count(kBursts);
  Samples samples(bursts);
  send_when_due(Schedule::steady(bursts, kPacePerSecond / kBurst),
                [&](std::size_t burst, std::uint64_t due, std::uint64_t) {
                  const std::uint64_t start = ticks();
                  for (std::size_t i = 1; i <= kBurst; ++i) {
                    const StampedRecord record(burst * kBurst + i, due);
                    publish_or_fail(*publisher, record.bytes());
                  }
                  samples.add(ticks() - start);
                });
  Measurement measurement;
  measurement.figure = samples.percentile_ns(0.5) / kBurst;
  measurement.details = {
      {"publish p99", samples.percentile_ns(0.99) / kBurst, "ns"},
      {"bursts over 10 us",
       static_cast<double>(samples.count_above_ns(kSlowNs)) * 1e6 / static_cast<double>(bursts),
       "a million"}};
  if (spec.members == Members::kStrangers) return measurement;
  const std::uint64_t due = bursts * kBurst * spec.size;
  const CrowdSight sight = crowd.await_records(bursts * kBurst);
  for (const double fraction : kCurveFractions) {
    measurement.curve.push_back(
        {fraction, static_cast<double>(sight.ages_ns.percentile(fraction))});
  }
  const auto age_us = [&](double fraction) {
    return static_cast<double>(sight.ages_ns.percentile(fraction)) / 1e3;
  };
  measurement.details.insert(
      measurement.details.end(),
      {{"age p50", age_us(0.5), "us"},
       {"age p99", age_us(0.99), "us"},
       {"age max", age_us(1), "us"},
       {"lost", static_cast<double>(sight.lost), ""},
       {"not yet read after 5 s", static_cast<double>(due - sight.received - sight.lost), ""}});
  if (sight.torn != 0) measurement.fault = absl::StrCat(sight.torn, " torn records");
  if (sight.out_of_order != 0) {
    measurement.fault = absl::StrCat(sight.out_of_order, " out of order");
  }
  return measurement;
}

}  // namespace

RowResult run_timed_crowd(const Setting& setting, WaitStrategy wait, std::size_t size) {
  RowSpec spec;
  spec.name = absl::StrCat("crowd-", name_of(wait), "-", size);
  spec.what =
      absl::StrCat("median time of a publish in bursts of 16, at 100 thousand a second, with ",
                   size, " subscribers waiting by ", name_of(wait));
  spec.floor = "strangers";
  spec.over = absl::StrCat("with ", size, " strangers");
  spec.unit = "ns";
  spec.trials = setting.trials(4);
  if (!has_two_cores()) return skip_row(spec, "needs two cores");
  CrowdSpec crowd{.size = setting.quick ? std::min(size, kCrowdSizeQuick) : size,
                  .members = Members::kStrangers,
                  .treatment = Treatment::kParked,
                  .cores = {},
                  .directory = {},
                  .records_per_second = kPacePerSecond,
                  .wait = wait,
                  .timed = true};
  return measure_row(
      spec, [&](Placement placement) { return publish_beside(setting, placement, crowd).figure; },
      [&](Placement placement) {
        CrowdSpec subscribers = crowd;
        subscribers.members = Members::kSubscribers;
        return publish_beside(setting, placement, subscribers);
      });
}

}  // namespace lapwing::bench
