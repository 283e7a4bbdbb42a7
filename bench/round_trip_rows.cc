// Round trips over two buses: a record there, a record back, both readers busy.
#include <atomic>
#include <cstdint>

#include "bench/bench_bus.h"
#include "bench/bench_ring.h"
#include "bench/floor.h"
#include "bench/ping_pong.h"
#include "bench/record_source.h"
#include "bench/rows.h"
#include "bench/two_processes.h"

namespace lapwing::bench {
namespace {

constexpr std::size_t kRoundTrips = 320'000;
constexpr double kFarBudget = 1.02;  // of two buses between far cores

using Record = TypedRecord<kRecordBytes>;

// Two rings and nothing else: the hot path alone.
[[gnu::always_inline]] inline void await_record(detail::ReadPath& in, Record& record) {
  constexpr std::uint32_t kLooks = 1u << 30;  // the other side is gone
  if (!in.take(record, kLooks)) fail("a round trip broke");
}

double ring_round_trip_ns(const Setting& setting, Placement placement, std::size_t round_trips,
                          Rhythm rhythm) {
  const std::uint64_t capacity = capacity_for(setting);
  const RingName ping = new_ring_name(setting.ring_directory);
  const RingName pong = new_ring_name(setting.ring_directory);
  const Shared<std::atomic<int>> rings_made;
  Child echo(placement.second, [&] {
    WrittenRing out(pong, capacity, kRecordBytes);
    rings_made->fetch_add(1);
    spin_until([&] { return *rings_made == 2; });
    const ReadRing ring(ping);
    detail::ReadPath in = ring.path();
    Record record;
    for (Sequence n = 1; n <= capacity + round_trips; ++n) {
      await_record(in, record);
      out.publish(n, record);
    }
  });
  pin_to_core(placement.first);
  WrittenRing out(ping, capacity, kRecordBytes);
  rings_made->fetch_add(1);
  spin_until([&] { return *rings_made == 2; });
  const ReadRing ring(pong);
  detail::ReadPath in = ring.path();
  Record record = {};
  const double median = median_round_trip_ns(rhythm, capacity, round_trips, [&](Sequence n) {
    record.words[0] = n;
    out.publish(n, record);
    await_record(in, record);
  });
  echo.join();
  return median;
}

// Two buses: a publisher and a subscriber that waits busily in each process.
[[gnu::always_inline]] inline void await_record(Subscriber& subscriber, Record& record,
                                                Deadline deadline) {
  if (subscriber.take(record, deadline).result == Errc::kOk) return;
  fail("an event in the middle of a round trip, or silence");
}

void await_other_side(Subscriber& subscriber, std::atomic<int>& joined) {
  await_join(subscriber);
  joined.fetch_add(1);
  spin_until([&] { return joined == 2; });
}

double bus_round_trip_ns(const Setting& setting, Placement placement, std::size_t round_trips,
                         Rhythm rhythm) {
  const std::uint64_t warm_up = capacity_for(setting);
  const PrivateDirectory ping(setting.ring_directory);
  const PrivateDirectory pong(setting.ring_directory);
  const Shared<std::atomic<int>> joined;
  Child echo(placement.second, [&] {
    const auto out = open_publisher(setting, swapped(placement), pong.path(), Journal::kNone);
    Subscriber in =
        value_or_fail(Subscriber::open(subscriber_options(ping.path(), WaitStrategy::kBusy)));
    await_other_side(in, *joined);
    Record record;
    const Deadline deadline = kHang;
    for (std::size_t n = 1; n <= warm_up + round_trips; ++n) {
      await_record(in, record, deadline);
      publish_or_fail(*out, record);
    }
  });
  const auto out = open_publisher(setting, placement, ping.path(), Journal::kNone);
  Subscriber in =
      value_or_fail(Subscriber::open(subscriber_options(pong.path(), WaitStrategy::kBusy)));
  await_other_side(in, *joined);
  Record record = {};
  const Deadline deadline = kHang;
  const double median = median_round_trip_ns(rhythm, warm_up, round_trips, [&](std::uint64_t n) {
    record.words[0] = n;
    publish_or_fail(*out, record);
    await_record(in, record, deadline);
  });
  echo.join();
  return median;
}

RowSpec spec_of(const char* name, const char* what, double budget) {
  RowSpec spec;
  spec.name = name;
  spec.what = what;
  spec.budget = budget;
  return spec;
}

template <typename RoundTrip>
RowResult run(const Setting& setting, RowSpec spec, Rhythm rhythm, RoundTrip&& round_trip) {
  spec.floor = rhythm == Rhythm::kOwn ? "walk" : "walk without rhythm";
  spec.floor_shows_distance = true;
  spec.unit = "ns";
  spec.trials = setting.trials(10);
  if (!has_two_cores()) return skip_row(spec, "needs two cores");
  const std::size_t round_trips = setting.count(kRoundTrips);
  return measure_row(
      spec,
      [&](Placement placement) {
        return walk_ns(placement, capacity_for(setting), round_trips, rhythm);
      },
      [&](Placement placement) {
        Measurement measurement;
        measurement.figure = round_trip(setting, placement, round_trips, rhythm);
        measurement.details.push_back({"line", line_ns(placement, round_trips), "ns"});
        return measurement;
      });
}

}  // namespace

RowResult run_round_trip(const Setting& setting) {
  RowSpec spec =
      spec_of("round-trip",
              "round trip over two buses, two processes, 56-byte records, busy readers", 1.05);
  spec.budget_far = kFarBudget;
  return run(setting, spec, Rhythm::kOwn, bus_round_trip_ns);
}

RowResult run_round_trip_jitter(const Setting& setting) {
  RowSpec spec = spec_of("round-trip-jitter",
                         "the same, a random wait of up to 128 ns before each record", 1.13);
  spec.budget_far = kFarBudget;
  return run(setting, spec, Rhythm::kBroken, bus_round_trip_ns);
}

RowResult run_round_trip_ring(const Setting& setting) {
  return run(setting,
             spec_of("round-trip-ring", "round trip over two bare rings: the hot path alone", 1.05),
             Rhythm::kOwn, ring_round_trip_ns);
}

RowResult run_round_trip_ring_jitter(const Setting& setting) {
  return run(setting,
             spec_of("round-trip-ring-jitter",
                     "the same, a random wait of up to 128 ns before each record", 1.10),
             Rhythm::kBroken, ring_round_trip_ns);
}

}  // namespace lapwing::bench
