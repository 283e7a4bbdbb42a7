// Times round trips. The subject and its floors share this loop, so that they differ in nothing but
// what is sent.
//
// Thread safety: one thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bench/machine.h"
#include "bench/samples.h"

namespace lapwing::bench {

// Timed together: a clock may advance in steps of 10 ns, a tenth of a round trip and more. Few
// enough that a preemption spoils one block of many.
inline constexpr std::uint64_t kBlockRoundTrips = 64;

// Calls exchange(1), exchange(2), … exchange(warm_up + count), each of which returns when the
// answer is there. Nanoseconds per round trip, median over the blocks after the warm-up. `count` is
// a multiple of kBlockRoundTrips.
template <typename Exchange>
double median_round_trip_ns(std::uint64_t warm_up, std::uint64_t count, Exchange&& exchange) {
  std::uint64_t n = 0;
  while (n < warm_up) exchange(++n);
  Samples blocks(count / kBlockRoundTrips);
  while (n < warm_up + count) {
    const std::uint64_t start = ticks();
    for (std::uint64_t i = 0; i < kBlockRoundTrips; ++i) exchange(++n);
    blocks.add(ticks() - start);
  }
  return blocks.percentile_ns(0.5) / kBlockRoundTrips;
}

}  // namespace lapwing::bench
