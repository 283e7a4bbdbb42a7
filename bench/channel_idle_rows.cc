// The cost of an idle channel, and of waking its consumer.
#include <atomic>
#include <cstring>
#include <vector>

#include "bench/bench_channel.h"
#include "bench/floor.h"
#include "bench/idle_share.h"
#include "bench/rows.h"
#include "bench/samples.h"
#include "bench/two_processes.h"
#include "channel/side.h"

namespace lapwing::bench {
namespace {

constexpr std::size_t kWakes = 100;
constexpr std::size_t kFrameBytes = 50'000'000;  // for example, of a camera
constexpr int kMembarriers = 101;

// The consumer's data. The two counters count its sleeps and wake-ups.
struct alignas(kWordStride) Bed {
  alignas(kWordStride) std::atomic<std::uint64_t> bedtimes{0};
  alignas(kWordStride) std::atomic<std::uint64_t> risings{0};
  std::uint64_t woken_ns = 0;
  bool slept = false;  // false: the message arrived before it slept
  double membarrier_ns = 0;
};

// Measured while the other process runs on the other core, as it does when a consumer goes to
// sleep.
double median_membarrier_ns() {
  std::vector<double> durations;
  for (int i = 0; i < kMembarriers; ++i) {
    const std::uint64_t start_ns = monotonic_ns();
    membarrier_global();
    durations.push_back(static_cast<double>(monotonic_ns() - start_ns));
  }
  return median_of(durations);
}

// Runs until the producer closes.
void sleep_and_wake(ChannelConsumer& in, std::size_t bytes, Bed& bed) {
  bed.membarrier_ns = median_membarrier_ns();
  for (std::uint64_t n = 1;; ++n) {
    const std::uint64_t sleeps = in.counters().sleeps;
    bed.bedtimes.store(n, std::memory_order_release);
    const Result<Message> peek = in.peek();
    bed.woken_ns = monotonic_ns();
    if (peek.error() == Errc::kClosed) return;
    ok_or_fail(peek, in);
    if (peek->payload.size() != bytes) fail("received a message with a different size");
    bed.slept = in.counters().sleeps != sleeps;
    ok_or_fail(in.release(), in);
    bed.risings.store(n, std::memory_order_release);
  }
}

void fill(std::span<std::byte> payload, std::uint64_t n) {
  std::memset(payload.data(), static_cast<int>(n & 0xff), payload.size());
}

struct Woken {
  double median_ns;
  double membarrier_ns;
};

Woken wake_consumer(const Setting& setting, Placement placement, std::size_t bytes, bool membarrier,
                    std::size_t wakes) {
  ChannelOptions options = channel_options(WaitStrategy::kPark);
  options.message_bytes_max = static_cast<std::uint32_t>(bytes);
  options.capacity = channel_capacity_for(bytes, kPayloadOffsetPacked);
  options.membarrier = membarrier;
  ChannelPlace place(setting);
  const Shared<Bed> bed;
  Child sleeper(placement.second, [&] {
    auto in = place.connect<ChannelConsumer>(options);
    sleep_and_wake(in, bytes, *bed);
  });
  pin_to_core(placement.first);
  auto out = place.accept<ChannelProducer>(options);
  std::vector<double> durations;
  for (std::uint64_t n = 1; durations.size() < wakes; ++n) {
    spin_until([&] { return bed->bedtimes.load(std::memory_order_acquire) == n; });
    const auto claim = out.claim(bytes);
    ok_or_fail(claim, out);
    fill(*claim, n);
    let_sleep();
    const std::uint64_t start_ns = monotonic_ns();
    ok_or_fail(out.commit(bytes, kMessageType), out);
    spin_until([&] { return bed->risings.load(std::memory_order_acquire) == n; });
    if (bed->slept) durations.push_back(static_cast<double>(bed->woken_ns - start_ns));
  }
  out.close();
  sleeper.join();
  return {median_of(durations), bed->membarrier_ns};
}

// The floor: the waker writes the same number of bytes while the other process sleeps.
double bare_wake_ns(Placement placement, std::size_t bytes, std::size_t wakes) {
  const SharedMemory memory(bytes);
  std::uint64_t n = 0;
  return wake_ns(placement, wakes, [&] { fill({memory.data(), bytes}, ++n); });
}

struct IdleShares {
  double consumer_percent = 0;
  double producer_percent = 0;
  double bare_percent = 0;
};

void idle_as_consumer(const ChannelPlace& place, std::uint64_t idle_ns, IdleShares& shares) {
  auto in = place.connect<ChannelConsumer>(channel_options(WaitStrategy::kPark));
  shares.consumer_percent = idle_percent(idle_ns, [&](std::uint64_t deadline_ns) {
    const Result<Message> peek = in.peek(Deadline::at_monotonic_ns(deadline_ns));
    if (peek.error() != Errc::kTimedOut) fail("received a message that was not sent");
  });
}

void idle_as_producer(const ChannelPlace& place, std::uint64_t idle_ns, IdleShares& shares) {
  auto out = place.connect<ChannelProducer>(channel_options(WaitStrategy::kPark));
  while (out.try_claim(kMessageBytes).ok()) {
    ok_or_fail(out.commit(kMessageBytes, kMessageType), out);
  }
  shares.producer_percent = idle_percent(idle_ns, [&](std::uint64_t deadline_ns) {
    const auto claim = out.claim(kMessageBytes, Deadline::at_monotonic_ns(deadline_ns));
    if (claim.error() != Errc::kTimedOut) fail("found space in a full channel");
  });
}

// A consumer that waits for a message, and a producer that waits for room. The other ends of both
// channels belong to this process, which does nothing.
Measurement idle(const Setting& setting, Placement placement, std::uint64_t idle_ns) {
  ChannelPlace empty(setting);
  ChannelPlace full(setting);
  const Shared<IdleShares> shares;
  Child consumer(placement.first, [&] { idle_as_consumer(empty, idle_ns, *shares); });
  Child producer(placement.second, [&] { idle_as_producer(full, idle_ns, *shares); });
  Child sleeper(placement.second,
                [&] { shares->bare_percent = bare_sleeper_percent(idle_ns, kChannelSleepNsMax); });
  const auto empty_end = empty.accept<ChannelProducer>(channel_options(WaitStrategy::kPark));
  const auto full_end = full.accept<ChannelConsumer>(channel_options(WaitStrategy::kPark));
  consumer.join();
  producer.join();
  sleeper.join();
  Measurement measurement;
  measurement.figure = std::max(shares->consumer_percent, shares->producer_percent);
  measurement.details = {{"consumer", shares->consumer_percent, "%"},
                         {"producer", shares->producer_percent, "%"},
                         {"a bare futex that times out as often", shares->bare_percent, "%"}};
  return measurement;
}

}  // namespace

RowResult run_channel_wake(const Setting& setting) {
  RowSpec spec;
  spec.name = "channel-wake";
  spec.what = "median time from commit of a 50 MB message until a parked consumer has borrowed it";
  spec.floor = "wake";
  spec.unit = "ns";
  spec.budget = 1.2;
  spec.trials = setting.trials(10);
  if (!has_two_cores()) return skip_row(spec, "needs two cores");
  const std::size_t bytes = setting.count(kFrameBytes);
  const std::size_t wakes = setting.count(kWakes);
  return measure_row(
      spec, [&](Placement placement) { return bare_wake_ns(placement, bytes, wakes); },
      [&](Placement placement) {
        const Woken woken = wake_consumer(setting, placement, bytes, true, wakes);
        const Woken fenced = wake_consumer(setting, placement, bytes, false, wakes);
        Measurement measurement;
        measurement.figure = woken.median_ns;
        measurement.details = {{"with fences", fenced.median_ns, "ns"},
                               {"membarrier before a sleep", woken.membarrier_ns, "ns"}};
        return measurement;
      });
}

RowResult run_channel_idle(const Setting& setting) {
  RowSpec spec;
  spec.name = "channel-idle";
  spec.what = "processor share of a parked consumer or a parked producer, whichever is larger";
  spec.floor = "0.1 % of a core";
  spec.unit = "%";
  spec.budget = 1.0;
  spec.trials = 2;
  const std::uint64_t idle_ns = setting.quick ? kIdleNsQuick : kIdleNs;
  return measure_row(
      spec, [](Placement) { return kIdlePercentMax; },
      [&](Placement placement) { return idle(setting, placement, idle_ns); });
}

}  // namespace lapwing::bench
