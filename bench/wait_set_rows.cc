// The cost of waiting for several buses on one thread: a wake-up, and a poll without a result.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/bench_bus.h"
#include "bench/floor.h"
#include "bench/idle_share.h"
#include "bench/record_source.h"
#include "bench/rows.h"
#include "bench/samples.h"
#include "bench/two_processes.h"
#include "lapwing/wait_set.h"
#include "os/kernel.h"

namespace lapwing::bench {
namespace {

constexpr std::size_t kWakes = 100;
// Without records the publishers' own threads sleep as well. For 10 ms after a record they poll the
// ring every 50 us, and sixteen of them leave little time for a sleeper on their core.
constexpr std::uint64_t kQuietNs = 12'000'000;
constexpr std::size_t kLookedAtBuses = 16;
constexpr std::size_t kCalls = 2'048'000;
constexpr std::size_t kBlockCalls = 1024;  // timed together

// Rings of a few thousand slots, because their size does not affect these rows.
Setting with_small_rings(Setting setting) {
  setting.quick = true;
  return setting;
}

// One or more buses, each in its own directory.
class Buses {
 public:
  Buses(const Setting& setting, std::size_t count) : setting_(with_small_rings(setting)) {
    for (std::size_t i = 0; i < count; ++i) directories_.emplace_back(setting.ring_directory);
  }

  std::size_t count() const { return directories_.size(); }
  std::vector<ClosingPublisher> open_publishers(Placement placement) const {
    std::vector<ClosingPublisher> publishers;
    for (const PrivateDirectory& directory : directories_) {
      publishers.push_back(open_publisher(setting_, placement, directory.path(), Journal::kNone));
    }
    return publishers;
  }
  // Opens subscribers that have joined.
  std::deque<Subscriber> open_subscribers(WaitStrategy wait) const {
    std::deque<Subscriber> subscribers;
    for (const PrivateDirectory& directory : directories_) {
      subscribers.push_back(
          value_or_fail(Subscriber::open(subscriber_options(directory.path(), wait))));
      await_join(subscribers.back());
    }
    return subscribers;
  }

 private:
  const Setting setting_;
  std::deque<PrivateDirectory> directories_;
};

WaitSet open_set(std::deque<Subscriber>& subscribers, WaitStrategy wait) {
  WaitSet set = value_or_fail(WaitSet::open({.wait = wait}));
  for (std::size_t i = 0; i < subscribers.size(); ++i) {
    ok_or_fail(set.add(subscribers[i], i).status());
  }
  return set;
}

// The sleeper's data. The two counters count its sleeps and wake-ups.
struct alignas(kWordStride) Bed {
  alignas(kWordStride) std::atomic<std::uint64_t> bedtimes{0};
  alignas(kWordStride) std::atomic<std::uint64_t> risings{0};
  double median_ns = 0;
};

// Reads the next record from any bus in the set; without a set, from the given bus.
Item next_record(WaitSet* set, std::deque<Subscriber>& subscribers, std::uint64_t bus) {
  for (;;) {
    const std::uint64_t number = set == nullptr ? bus : set->wait(kHang)->token;
    const Result<Item> item =
        subscribers[number].next(set == nullptr ? Deadline(kHang) : Deadline::now());
    if (item.ok() && item->kind == ItemKind::kRecord) return *item;
    if (!subscribers[number].status().ok()) fail(subscribers[number].status().ToString());
  }
}

// A sample is the age of a record at the end of a wait that slept.
void sleep_and_wake(const Buses& buses, bool in_set, std::size_t wakes, Bed& bed) {
  std::deque<Subscriber> subscribers = buses.open_subscribers(WaitStrategy::kPark);
  std::optional<WaitSet> set;
  if (in_set) set.emplace(open_set(subscribers, WaitStrategy::kPark));
  std::vector<double> ages_ns;
  for (std::uint64_t n = 1; n <= wakes; ++n) {
    const long sleeps = sleeps_so_far();
    bed.bedtimes.store(n, std::memory_order_release);
    const Item item = next_record(set ? &*set : nullptr, subscribers, n % buses.count());
    const std::uint64_t woken_ns = monotonic_ns();
    std::uint64_t published_ns = 0;
    std::memcpy(&published_ns, item.record.data(), sizeof published_ns);
    if (sleeps_so_far() > sleeps) ages_ns.push_back(static_cast<double>(woken_ns - published_ns));
    bed.risings.store(n, std::memory_order_release);
  }
  if (ages_ns.empty()) fail("no wait was long enough to sleep");
  bed.median_ns = median_of(ages_ns);
}

void let_all_sleep() {
  const std::uint64_t due_ns = monotonic_ns() + kQuietNs;
  spin_until([&] { return monotonic_ns() >= due_ns; });
}

// The wake-up time of a sleeper that `count` buses wake one after another. It waits for all of them
// in a set, or each time for only the next one.
double wake_of_buses_ns(const Setting& setting, Placement placement, std::size_t count, bool in_set,
                        std::size_t wakes) {
  const Buses buses(setting, count);
  const Shared<Bed> bed;
  Child sleeper(placement.second, [&] { sleep_and_wake(buses, in_set, wakes, *bed); });
  const std::vector<ClosingPublisher> publishers = buses.open_publishers(placement);
  std::byte record[kRecordBytes] = {};
  for (std::uint64_t n = 1; n <= wakes; ++n) {
    spin_until([&] { return bed->bedtimes.load(std::memory_order_acquire) == n; });
    let_all_sleep();
    const std::uint64_t now_ns = monotonic_ns();
    std::memcpy(record, &now_ns, sizeof now_ns);
    publish_or_fail(*publishers[n % count], record);
    spin_until([&] { return bed->risings.load(std::memory_order_acquire) == n; });
  }
  sleeper.join();
  return bed->median_ns;
}

RowResult run_wake_of(const Setting& setting, const char* name, const char* what,
                      std::size_t count) {
  RowSpec spec;
  spec.name = name;
  spec.what = what;
  spec.floor = "a wait for one of these buses";
  spec.unit = "ns";
  spec.budget = 1.3;
  spec.trials = setting.trials(10);
  if (!has_two_cores()) return skip_row(spec, "needs two cores");
  const std::size_t wakes = setting.count(kWakes);
  return measure_row(
      spec,
      [&](Placement placement) {
        return wake_of_buses_ns(setting, placement, count, false, wakes);
      },
      [&](Placement placement) {
        Measurement measurement;
        measurement.figure = wake_of_buses_ns(setting, placement, count, true, wakes);
        return measurement;
      });
}

// The cost of a call without a result, for each of the `count` quiet buses that it polls.
template <typename Call>
double quiet_call_ns(const Setting& setting, Placement placement, std::size_t count,
                     const Call& call) {
  const Buses buses(setting, count);
  const Shared<Bed> bed;
  Child publisher(placement.second, [&] {
    const auto publishers = buses.open_publishers({placement.second, placement.second});
    spin_until([&] { return bed->risings.load(std::memory_order_acquire) == 1; });
  });
  pin_to_core(placement.first);
  std::deque<Subscriber> subscribers = buses.open_subscribers(WaitStrategy::kBusy);
  WaitSet set = open_set(subscribers, WaitStrategy::kBusy);
  const std::size_t blocks = std::max<std::size_t>(setting.count(kCalls) / count / kBlockCalls, 2);
  Samples samples(blocks);
  for (std::size_t i = 0; i < blocks; ++i) {
    const std::uint64_t start = ticks();
    for (std::size_t k = 0; k < kBlockCalls; ++k) {
      if (call(set, subscribers.front()) != Errc::kWouldBlock)
        fail("received a record that was not published");
    }
    samples.add(ticks() - start);
  }
  bed->risings.store(1, std::memory_order_release);
  publisher.join();
  return samples.percentile_ns(0.5) / kBlockCalls / static_cast<double>(count);
}

}  // namespace

RowResult run_wait_set_wake_2(const Setting& setting) {
  return run_wake_of(setting, "wait-set-wake-2",
                     "median age of a record when it wakes up a set of 2 parked buses", 2);
}

RowResult run_wait_set_wake_16(const Setting& setting) {
  return run_wake_of(setting, "wait-set-wake-16",
                     "median age of a record when it wakes up a set of 16 parked buses", 16);
}

RowResult run_wait_set_look(const Setting& setting) {
  RowSpec spec;
  spec.name = "wait-set-look";
  spec.what = "wait(Deadline::now()) on a busy set of 16 quiet buses, per bus";
  spec.floor = "read_one";
  spec.unit = "ns";
  spec.budget = 1.0;
  spec.trials = setting.trials(10);
  return measure_row(
      spec,
      [&](Placement placement) {
        return quiet_call_ns(setting, placement, 1, [](WaitSet&, Subscriber& subscriber) {
          TypedRecord<kRecordBytes> record;
          return subscriber.read_one(record, Deadline::now()).error();
        });
      },
      [&](Placement placement) {
        Measurement measurement;
        measurement.figure = quiet_call_ns(
            setting, placement, kLookedAtBuses,
            [](WaitSet& set, Subscriber&) { return set.wait(Deadline::now()).error(); });
        return measurement;
      });
}

}  // namespace lapwing::bench
