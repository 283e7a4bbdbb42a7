// The cost of idle buses, and of wake-ups.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>
#include <vector>

#include "bench/bench_bus.h"
#include "bench/floor.h"
#include "bench/idle_share.h"
#include "bench/rows.h"
#include "bench/samples.h"
#include "bench/two_processes.h"
#include "os/kernel.h"
#include "proto/ring_words.h"

namespace lapwing::bench {
namespace {

constexpr double kPacePerSecond = 1e6;
constexpr std::size_t kWakes = 4000;
constexpr double kWakeAllowanceNs = 100'000;

struct IdleShares {
  std::atomic<int> ready{0};
  std::uint32_t done_bell = 0;
  double publisher_percent = 0;
  double subscriber_percent = 0;
  double bare_percent = 0;
};

// While idle, the publishing thread has nothing to do: it sleeps in the kernel.
void idle_as_publisher(const Setting& setting, Placement placement, const std::string& directory,
                       std::uint64_t idle_ns, IdleShares& shares) {
  const auto publisher = open_publisher(setting, placement, directory, Journal::kSynced);
  const std::byte record[kRecordBytes] = {};
  publish_or_fail(*publisher, record);  // so that it has done work before it is idle
  spin_until([&] { return shares.ready == 1; });
  const std::uint32_t never = 0;
  shares.publisher_percent = idle_percent(idle_ns, [&](std::uint64_t deadline_ns) {
    for (std::uint64_t now; (now = monotonic_ns()) < deadline_ns;) {
      futex_wait(&never, 0, deadline_ns - now);
    }
  });
  while (load_bell(&shares.done_bell) == 0) futex_wait(&shares.done_bell, 0, kParkNsMax);
  ok_or_fail(publisher->close());
}

void idle_as_subscriber(const std::string& directory, std::uint64_t idle_ns, IdleShares& shares) {
  SubscriberOptions options = subscriber_options(directory, WaitStrategy::kPark);
  options.on_gap = OnGap::kFill;
  Subscriber subscriber = value_or_fail(Subscriber::open(std::move(options)));
  await_join(subscriber);
  shares.ready = 1;
  shares.subscriber_percent = idle_percent(idle_ns, [&](std::uint64_t deadline_ns) {
    const Deadline deadline = Deadline::at_monotonic_ns(deadline_ns);
    while (!deadline.has_passed()) {
      const Result<Item> item = subscriber.next(deadline);
      if (!item.ok() && item != Errc::kTimedOut) fail(subscriber.status().ToString());
    }
  });
  bump_bell(&shares.done_bell);
  futex_wake_all(&shares.done_bell);
}

Measurement idle(const Setting& setting, Placement placement, std::uint64_t idle_ns) {
  const PrivateDirectory directory(setting.disk_directory);
  const Shared<IdleShares> shares;
  Child publisher(placement.first, [&] {
    idle_as_publisher(setting, placement, directory.path(), idle_ns, *shares);
  });
  Child subscriber(placement.second,
                   [&] { idle_as_subscriber(directory.path(), idle_ns, *shares); });
  Child sleeper(placement.second,
                [&] { shares->bare_percent = bare_sleeper_percent(idle_ns, kParkNsMax); });
  subscriber.join();
  publisher.join();
  sleeper.join();
  Measurement measurement;
  measurement.figure = std::max(shares->publisher_percent, shares->subscriber_percent);
  measurement.details = {{"publisher", shares->publisher_percent, "%"},
                         {"subscriber", shares->subscriber_percent, "%"},
                         {"a bare futex that times out as often", shares->bare_percent, "%"}};
  return measurement;
}

struct Wakes {
  std::atomic<int> attached{0};
  std::atomic<int> done{0};
  double median_ns = 0;
  double p99_ns = 0;
};

// A sample is the age of the first record after a wait that slept.
void receive_parked(const std::string& directory, std::size_t wakes, Wakes& result) {
  Subscriber subscriber =
      value_or_fail(Subscriber::open(subscriber_options(directory, WaitStrategy::kPark)));
  await_join(subscriber);
  result.attached = 1;
  std::vector<double> ages_ns;
  bool waited = false;
  long sleeps = sleeps_so_far();
  while (ages_ns.size() < wakes) {
    Result<Item> item = subscriber.next(Deadline::now());
    if (item == Errc::kWouldBlock) {
      waited = true;
      item = subscriber.next(std::chrono::nanoseconds(kParkNsMax));
    }
    if (item == Errc::kTimedOut) continue;
    if (!item.ok()) fail(subscriber.status().ToString());
    if (item->kind != ItemKind::kRecord) continue;
    if (waited) {
      const std::uint64_t now_ns = monotonic_ns();
      std::uint64_t published_ns = 0;
      std::memcpy(&published_ns, item->record.data(), sizeof published_ns);
      const long sleeps_before = std::exchange(sleeps, sleeps_so_far());
      if (sleeps > sleeps_before) ages_ns.push_back(static_cast<double>(now_ns - published_ns));
    }
    waited = false;
  }
  std::sort(ages_ns.begin(), ages_ns.end());
  result.median_ns = ages_ns[ages_ns.size() / 2];
  result.p99_ns = ages_ns[ages_ns.size() * 99 / 100];
  result.done = 1;
}

Measurement wake_under_load(const Setting& setting, Placement placement, std::size_t wakes) {
  const PrivateDirectory directory(setting.ring_directory);
  const Shared<Wakes> result;
  Child sleeper(placement.second, [&] { receive_parked(directory.path(), wakes, *result); });
  const auto publisher = open_publisher(setting, placement, directory.path(), Journal::kNone);
  spin_until([&] { return result->attached == 1; });
  const double period_ticks = 1e9 / kPacePerSecond / ns_per_tick();
  std::byte record[kRecordBytes] = {};
  double due = static_cast<double>(ticks());
  spin_until([&] {
    if (static_cast<double>(ticks()) >= due) {
      due += period_ticks;
      const std::uint64_t now_ns = monotonic_ns();
      std::memcpy(record, &now_ns, sizeof now_ns);
      publish_or_fail(*publisher, record);
    }
    return result->done == 1;
  });
  ok_or_fail(publisher->close());
  sleeper.join();
  Measurement measurement;
  measurement.figure = result->median_ns;
  measurement.details = {{"p99", result->p99_ns, "ns"}};
  return measurement;
}

}  // namespace

RowResult run_idle(const Setting& setting) {
  RowSpec spec;
  spec.name = "idle";
  spec.what = "processor share of a parked subscriber or an idle publisher, whichever is larger";
  spec.floor = "0.1 % of a core";
  spec.unit = "%";
  spec.budget = 1.0;
  spec.trials = 2;
  const std::uint64_t idle_ns = setting.quick ? kIdleNsQuick : kIdleNs;
  return measure_row(
      spec, [](Placement) { return kIdlePercentMax; },
      [&](Placement placement) { return idle(setting, placement, idle_ns); });
}

RowResult run_wake(const Setting& setting) {
  RowSpec spec;
  spec.name = "wake";
  spec.what = "median age of the first record after a park, at a million records a second";
  spec.over = "(100 us + 2 wake)";
  spec.floor = "wake";
  spec.unit = "ns";
  spec.budget = 1.0;
  spec.trials = setting.trials(10);
  spec.allowance = [](double wake) { return kWakeAllowanceNs + 2 * wake; };
  if (!has_two_cores()) return skip_row(spec, "needs two cores");
  const std::size_t wakes = setting.count(kWakes);
  return measure_row(
      spec, [&](Placement placement) { return wake_ns(placement, wakes / 4); },
      [&](Placement placement) { return wake_under_load(setting, placement, wakes); });
}

}  // namespace lapwing::bench
