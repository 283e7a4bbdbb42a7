// Round-trip rows. Each trial is timed, then run again with this side's polls counted.
#include "bench/floor.h"
#include "bench/looks.h"
#include "bench/round_trip.h"
#include "bench/rows.h"

namespace lapwing::bench {
namespace {

constexpr std::size_t kRoundTrips = 320'000;
constexpr double kFarBudget = 1.02;  // for two buses between far cores

RowSpec spec_of(const char* name, const char* what, double budget) {
  RowSpec spec;
  spec.name = name;
  spec.what = what;
  spec.budget = budget;
  return spec;
}

using RoundTrip = double (*)(const Setting&, Placement, std::size_t round_trips, Rhythm, Looks&);

RowResult run(const Setting& setting, RowSpec spec, Rhythm rhythm, RoundTrip round_trip,
              RoundTrip counted) {
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
        Looks looks;
        measurement.figure = round_trip(setting, placement, round_trips, rhythm, looks);
        measurement.details.push_back({"line", line_ns(placement, round_trips), "ns"});
        counted(setting, placement, round_trips, rhythm, looks);
        looks.add_to(measurement.details);
        return measurement;
      });
}

}  // namespace

RowResult run_round_trip(const Setting& setting) {
  RowSpec spec =
      spec_of("round-trip",
              "round trip over two buses, two processes, 56-byte records, busy readers", 1.05);
  spec.budget_far = kFarBudget;
  return run(setting, spec, Rhythm::kOwn, bus_round_trip_ns<false>, counted_bus_round_trip_ns);
}

RowResult run_round_trip_jitter(const Setting& setting) {
  RowSpec spec = spec_of("round-trip-jitter",
                         "the same, with a random wait of up to 128 ns before each record", 1.13);
  spec.budget_far = kFarBudget;
  return run(setting, spec, Rhythm::kBroken, bus_round_trip_ns<false>, counted_bus_round_trip_ns);
}

RowResult run_round_trip_ring(const Setting& setting) {
  return run(setting,
             spec_of("round-trip-ring", "round trip over two bare rings: only the hot path", 1.05),
             Rhythm::kOwn, ring_round_trip_ns<false>, counted_ring_round_trip_ns);
}

RowResult run_round_trip_ring_jitter(const Setting& setting) {
  return run(setting,
             spec_of("round-trip-ring-jitter",
                     "the same, with a random wait of up to 128 ns before each record", 1.10),
             Rhythm::kBroken, ring_round_trip_ns<false>, counted_ring_round_trip_ns);
}

}  // namespace lapwing::bench
