// One way under paced load: from when a record is due until a busy reader in another process has
// read all of it. What the publisher is late by counts, so nothing is hidden by its own stalls.
#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/bench_bus.h"
#include "bench/floor.h"
#include "bench/pace.h"
#include "bench/recorded_feed.h"
#include "bench/rows.h"
#include "bench/samples.h"
#include "bench/stamped_record.h"
#include "bench/two_processes.h"
#include "proto/shared_words.h"

namespace lapwing::bench {
namespace {

constexpr double kLoadSeconds = 2;
constexpr double kLoadSecondsQuick = 0.02;
constexpr double kWarmUpShare = 0.1;  // of the records, not timed
constexpr std::size_t kFloorRoundTrips = 64'000;
constexpr std::size_t kBurstRecordsQuick = 2'000;
constexpr std::uint64_t kSilenceNs = 50'000;  // recorded silences are cut to this
constexpr double kSlowNs = 10'000;

// What the reader saw, handed back through shared memory.
struct Arrived {
  std::atomic<int> attached{0};
  Curve curve;
  std::uint64_t slow = 0;
  std::uint64_t timed = 0;
  SubscriberCounters counters;
  std::uint64_t torn = 0;
  std::uint64_t out_of_order = 0;
  std::uint64_t early = 0;  // arrived before they were due: the cores' clocks differ
};

class Arrivals {
 public:
  Arrivals(std::size_t records, Arrived& arrived)
      : warm_up_(static_cast<std::size_t>(kWarmUpShare * static_cast<double>(records))),
        samples_(records),
        arrived_(arrived) {}

  void take(const std::byte* bytes, Sequence expected) {
    const StampedRecord record(bytes);
    const bool whole = record.whole();
    const std::uint64_t now = ticks_after_reads();
    arrived_.torn += whole ? 0U : 1U;
    arrived_.out_of_order += record.number() == expected ? 0U : 1U;
    if (now < record.due_ticks()) ++arrived_.early;
    if (expected <= warm_up_) return;
    samples_.add(now < record.due_ticks() ? 0 : now - record.due_ticks());
  }

  void hand_over(const SubscriberCounters& counters) {
    arrived_.counters = counters;
    arrived_.timed = samples_.size();
    arrived_.slow = samples_.count_above_ns(kSlowNs);
    if (samples_.size() > 0) arrived_.curve = samples_.curve_ns();
  }

 private:
  std::size_t warm_up_;
  Samples samples_;
  Arrived& arrived_;
};

void receive(const std::string& directory, std::size_t records, Arrived& arrived) {
  Arrivals arrivals(records, arrived);
  Subscriber subscriber(subscriber_options(directory, WaitStrategy::kBusy));
  await_join(subscriber);
  arrived.attached = 1;
  for (Item item; item.kind != ItemKind::kClosed; item = subscriber.poll()) {
    if (item.kind == ItemKind::kEnded) fail(subscriber.status().ToString());
    if (item.kind == ItemKind::kNothing) spin_pause();
    if (item.kind == ItemKind::kRecord) arrivals.take(subscriber.record().data(), item.sequence);
  }
  arrivals.hand_over(subscriber.counters());
}

std::string fault_of(const Arrived& arrived, std::size_t published) {
  const std::uint64_t seen = arrived.counters.records + arrived.counters.lost;
  if (arrived.torn != 0) return absl::StrCat(arrived.torn, " torn records");
  if (arrived.out_of_order != 0) return absl::StrCat(arrived.out_of_order, " out of order");
  if (arrived.early != 0) return absl::StrCat(arrived.early, " arrived before they were due");
  if (seen != published) return absl::StrCat(seen, " records and gaps of ", published);
  if (arrived.timed == 0) return "every record that was to be timed was lost";
  return {};
}

double at(const Curve& curve, double fraction) {
  const auto found = std::find_if(curve.begin(), curve.end(), [&](const CurvePoint& point) {
    return point.fraction >= fraction;
  });
  return found->ns;
}

Measurement one_way(const Setting& setting, Placement placement, const Schedule& schedule) {
  const PrivateDirectory directory(setting.ring_directory);
  const Shared<Arrived> arrived;
  Child reader(placement.second, [&] { receive(directory.path(), schedule.records(), *arrived); });
  const auto publisher = open_publisher(setting, placement, directory.path(), Journal::kNone);
  spin_until([&] { return arrived->attached == 1; });
  std::uint64_t behind_ticks = 0;
  send_when_due(schedule, [&](std::size_t record, std::uint64_t due, std::uint64_t now) {
    behind_ticks = std::max(behind_ticks, now - due);
    publish_or_fail(*publisher, StampedRecord(record + 1, due).bytes());
  });
  ok_or_fail(publisher->close());
  reader.join();
  const Curve& curve = arrived->curve;
  const auto timed = static_cast<double>(std::max<std::uint64_t>(arrived->timed, 1));
  Measurement measurement;
  measurement.figure = at(curve, 0.5);
  measurement.curve.assign(curve.begin(), curve.end());
  measurement.details = {
      {"p99", at(curve, 0.99), "ns"},
      {"p99.9", at(curve, 0.999), "ns"},
      {"p99.99", at(curve, 0.9999), "ns"},
      {"max", at(curve, 1), "ns"},
      {"over 10 us", static_cast<double>(arrived->slow) * 1e6 / timed, "a million"},
      {"publisher late by at most", static_cast<double>(behind_ticks) * ns_per_tick(), "ns"},
      {"lost", static_cast<double>(arrived->counters.lost), ""}};
  measurement.fault = fault_of(*arrived, schedule.records());
  return measurement;
}

RowSpec spec_of(const Setting& setting, const std::string& name, const std::string& load) {
  RowSpec spec;
  spec.name = name;
  spec.what = absl::StrCat("one way, from when a record is due until it is read in full, ", load);
  spec.floor = "walk";
  spec.over = "(walk / 2)";
  spec.allowance = [](double walk) { return walk / 2; };
  spec.floor_shows_distance = true;
  spec.unit = "ns";
  spec.trials = setting.trials(6);
  return spec;
}

RowResult run(const Setting& setting, const RowSpec& spec, const Schedule& schedule) {
  if (!has_two_cores()) return skip_row(spec, "needs two cores");
  const std::size_t round_trips = setting.count(kFloorRoundTrips) / 64 * 64;
  return measure_row(
      spec,
      [&](Placement placement) { return walk_ns(placement, capacity_for(setting), round_trips); },
      [&](Placement placement) { return one_way(setting, placement, schedule); });
}

RowResult run_steady(const Setting& setting, const char* name, double per_second,
                     const char* load) {
  const double seconds = setting.quick ? kLoadSecondsQuick : kLoadSeconds;
  const auto records = static_cast<std::size_t>(seconds * per_second);
  return run(setting, spec_of(setting, name, load), Schedule::steady(records, per_second));
}

}  // namespace

RowResult run_one_way_10k(const Setting& setting) {
  return run_steady(setting, "one-way-10k", 1e4, "10 thousand a second");
}

RowResult run_one_way_100k(const Setting& setting) {
  return run_steady(setting, "one-way-100k", 1e5, "100 thousand a second");
}

RowResult run_one_way_1m(const Setting& setting) {
  return run_steady(setting, "one-way-1m", 1e6, "a million a second");
}

RowResult run_one_way_5m(const Setting& setting) {
  return run_steady(setting, "one-way-5m", 5e6, "5 million a second");
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
