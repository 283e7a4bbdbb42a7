// The effect of subscribers on the publish path. Counts publishes slower than 10 us with 64
// subscribers that are parked, stopped, killed or swapped, compared with 64 strangers that are
// treated alike.
#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/bench_bus.h"
#include "bench/crowd.h"
#include "bench/record_source.h"
#include "bench/rows.h"
#include "bench/samples.h"
#include "bench/sign_flip.h"

namespace lapwing::bench {
namespace {

constexpr int kBlocks = 10;
constexpr std::size_t kBlockPublishes = 1'000'000;
constexpr double kPacePerSecond = 1e6;
constexpr double kSlowNs = 10'000;

struct Block {
  double slow;      // publishes slower than kSlowNs, per million
  double replaced;  // members replaced during that time
};

Block publish_block(const Setting& setting, Members members, Treatment treatment) {
  const Placement placement = straight_placement();
  const PrivateDirectory directory(setting.ring_directory);
  const std::size_t size = setting.quick ? kCrowdSizeQuick : kCrowdSize;
  const Crowd crowd({.size = size,
                     .members = members,
                     .treatment = treatment,
                     .cores = cores_beside(placement),
                     .directory = directory.path(),
                     .records_per_second = kPacePerSecond});
  const auto publisher = open_publisher(setting, placement, directory.path(), Journal::kNone);
  crowd.await_members();
  const std::size_t publishes = setting.count(kBlockPublishes);
  const double period_ticks = 1e9 / kPacePerSecond / ns_per_tick();
  RecordSource source(kRecordBytes);
  Samples samples(publishes);
  const std::uint64_t replaced_before = crowd.replaced();
  double due = static_cast<double>(ticks());
  for (std::size_t i = 0; i < publishes; ++i, due += period_ticks) {
    while (static_cast<double>(ticks()) < due) {
    }
    const std::uint64_t start = ticks();
    publish_or_fail(*publisher, source.next());
    samples.add(ticks() - start);
  }
  const auto count = static_cast<double>(publishes);
  return {static_cast<double>(samples.count_above_ns(kSlowNs)) * 1e6 / count,
          static_cast<double>(crowd.replaced() - replaced_before)};
}

RowResult run_crowd(const Setting& setting, const char* name, const char* what,
                    Treatment treatment) {
  RowSpec spec;
  spec.name = name;
  spec.what = what;
  spec.floor = "64 strangers";
  spec.unit = "slow publishes per million";
  if (!has_two_cores()) return skip_row(spec, "needs two cores");
  RowResult result;
  result.spec = spec;
  std::vector<double> differences;
  const double block_seconds = static_cast<double>(setting.count(kBlockPublishes)) / kPacePerSecond;
  double subscribers_replaced = 0;
  double strangers_replaced = 0;
  for (int block = 0; block < setting.trials(kBlocks); ++block) {
    // Alternate the order between blocks.
    const Members first = block % 2 == 0 ? Members::kSubscribers : Members::kStrangers;
    const Members second = block % 2 == 0 ? Members::kStrangers : Members::kSubscribers;
    Block subscribers = publish_block(setting, first, treatment);
    Block strangers = publish_block(setting, second, treatment);
    if (first == Members::kStrangers) std::swap(subscribers, strangers);
    Trial trial;
    trial.measurement.figure = subscribers.slow;
    trial.floor = strangers.slow;
    if (replaces_members(treatment)) {
      trial.measurement.details = {
          {"replaced", subscribers.replaced / block_seconds, "a second"},
          {"strangers replaced", strangers.replaced / block_seconds, "a second"}};
    }
    subscribers_replaced += subscribers.replaced;
    strangers_replaced += strangers.replaced;
    // One is added on both sides, so that a block without a slow publish has a ratio.
    trial.ratio = (trial.measurement.figure + 1) / (trial.floor + 1);
    differences.push_back(trial.measurement.figure - trial.floor);
    result.trials.push_back(std::move(trial));
  }
  result.chance = sign_flip_probability(differences);
  if (!replaced_alike(subscribers_replaced, strangers_replaced)) {
    result.skipped = absl::StrCat(
        "the load was not equal: ", subscribers_replaced, " subscribers and ", strangers_replaced,
        " unrelated processes were replaced; run it on a less busy machine");
  }
  return result;
}

}  // namespace

RowResult run_parked_crowd(const Setting& setting) {
  return run_crowd(setting, "subscribers-parked", "publish path with 64 parked subscribers",
                   Treatment::kParked);
}

RowResult run_stopped_crowd(const Setting& setting) {
  return run_crowd(setting, "subscribers-stopped", "publish path with 64 stopped subscribers",
                   Treatment::kStopped);
}

RowResult run_killed_crowd(const Setting& setting) {
  return run_crowd(setting, "subscribers-killed",
                   "publish path with 64 subscribers that are killed and replaced",
                   Treatment::kKilled);
}

RowResult run_swapped_crowd(const Setting& setting) {
  return run_crowd(
      setting, "subscribers-swapped",
      "publish path with 64 subscribers, of which one leaves and another joins continuously",
      Treatment::kSwapped);
}

}  // namespace lapwing::bench
