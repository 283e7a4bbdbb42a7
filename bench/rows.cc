#include "bench/rows.h"

namespace lapwing::bench {
namespace {

constexpr Row kRows[] = {
    {"round-trip-ring", run_round_trip_ring},
    {"round-trip-ring-small", run_round_trip_ring_small},
};

}  // namespace

std::span<const Row> all_rows() {
  return kRows;
}

}  // namespace lapwing::bench
