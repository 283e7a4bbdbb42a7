#include "bench/looks.h"

#include "bench/round_trip.h"

namespace lapwing::bench {

double counted_ring_round_trip_ns(const Setting& setting, Placement placement,
                                  std::size_t round_trips, Rhythm rhythm, Looks& looks) {
  return ring_round_trip_ns<true>(setting, placement, round_trips, rhythm, looks);
}

double counted_bus_round_trip_ns(const Setting& setting, Placement placement,
                                 std::size_t round_trips, Rhythm rhythm, Looks& looks) {
  return bus_round_trip_ns<true>(setting, placement, round_trips, rhythm, looks);
}

}  // namespace lapwing::bench
