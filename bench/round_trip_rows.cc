// Round trips over two buses: a record there, a record back, both readers busy.
#include <atomic>
#include <cstring>
#include <vector>

#include "bench/bench_ring.h"
#include "bench/floor.h"
#include "bench/ping_pong.h"
#include "bench/rows.h"
#include "bench/two_processes.h"

namespace lapwing::bench {
namespace {

constexpr std::uint32_t kRecordBytes = 56;
constexpr std::uint64_t kDefaultCapacity = std::uint64_t{1} << 20;
constexpr std::uint64_t kSmallCapacity = 4096;
constexpr std::size_t kRoundTrips = 320'000;  // a fiftieth of it is whole blocks too

void await_record(const RingReader& reader, Sequence n, std::byte* record) {
  spin_until([&] {
    const RingRead outcome = reader.try_read(n, record).outcome;
    if (outcome == RingRead::kLapped || outcome == RingRead::kCorrupt) fail("a round trip broke");
    return outcome == RingRead::kRecord;
  });
}

double ring_round_trip_ns(const Setting& setting, Placement placement, std::uint64_t capacity,
                          std::size_t round_trips) {
  const RingName ping = new_ring_name(setting.ring_directory);
  const RingName pong = new_ring_name(setting.ring_directory);
  const Shared<std::atomic<int>> rings_made;
  Child echo(placement.second, [&] {
    WrittenRing out(pong, capacity, kRecordBytes);
    rings_made->fetch_add(1);
    spin_until([&] { return rings_made->load() == 2; });
    const ReadRing in(ping);
    std::vector<std::byte> record(kRecordBytes);
    for (Sequence n = 1; n <= capacity + round_trips; ++n) {
      await_record(in.reader(), n, record.data());
      out.publish(n, record.data());
    }
  });
  pin_to_core(placement.first);
  WrittenRing out(ping, capacity, kRecordBytes);
  rings_made->fetch_add(1);
  spin_until([&] { return rings_made->load() == 2; });
  const ReadRing in(pong);
  std::vector<std::byte> record(kRecordBytes);
  const double median = median_round_trip_ns(capacity, round_trips, [&](Sequence n) {
    std::memcpy(record.data(), &n, sizeof n);
    out.publish(n, record.data());
    await_record(in.reader(), n, record.data());
  });
  echo.join();
  return median;
}

RowResult run_ring(const Setting& setting, const char* name, std::uint64_t capacity) {
  RowSpec spec;
  spec.name = name;
  spec.what = absl::StrCat("round trip over two rings of ", capacity,
                           " slots, two processes, 56-byte records, busy readers");
  spec.floor = "walk";
  spec.unit = "ns";
  spec.budget = 1.15;
  spec.trials = setting.trials(10);
  if (!has_two_cores()) return skip_row(spec, "needs two cores");
  const std::size_t round_trips = setting.count(kRoundTrips);
  return measure_row(
      spec, [&](Placement placement) { return walk_ns(placement, capacity, round_trips); },
      [&](Placement placement) {
        Measurement measurement;
        measurement.figure = ring_round_trip_ns(setting, placement, capacity, round_trips);
        measurement.details.push_back({"line", line_ns(placement, round_trips), "ns"});
        return measurement;
      });
}

}  // namespace

RowResult run_round_trip_ring(const Setting& setting) {
  return run_ring(setting, "round-trip-ring", setting.quick ? kSmallCapacity : kDefaultCapacity);
}

RowResult run_round_trip_ring_small(const Setting& setting) {
  return run_ring(setting, "round-trip-ring-small", kSmallCapacity);
}

}  // namespace lapwing::bench
