// Times round trips. The subject and its floors share this loop, so that they differ only in what
// is sent.
//
// Two polling sides synchronize: a trial is decided by whether a pause ends just before or just
// after the other side has stored, always in the same way (bench/README.md, "What misses").
// Rhythm::kBroken waits a random time before each exchange, so that a trial is a mean over all
// phases.
//
// Thread safety: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>

#include "bench/machine.h"
#include "bench/samples.h"

namespace lapwing::bench {

// The number of exchanges timed together. A clock may have steps of 10 ns, a tenth of a round trip
// or more. A preemption affects only one block of many.
inline constexpr std::uint64_t kBlockRoundTrips = 64;

// Calls exchange(1), exchange(2), … exchange(warm_up + count). Each call returns when the answer
// has arrived. Returns nanoseconds per round trip, the median over the blocks after the warm-up.
// `count` is a multiple of kBlockRoundTrips.
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

enum class Rhythm { kOwn, kBroken };

inline constexpr double kPhaseNsMax = 128;  // a few pauses

// The same, but times each exchange separately, after an untimed wait of 0 to kPhaseNsMax.
template <typename Exchange>
double median_without_rhythm_ns(std::uint64_t warm_up, std::uint64_t count, Exchange&& exchange) {
  std::minstd_rand random(1);
  const auto phase_ticks = static_cast<std::uint64_t>(kPhaseNsMax / ns_per_tick());
  const double clock_ns = timing_ns();
  std::uint64_t n = 0;
  while (n < warm_up) exchange(++n);
  Samples trips(count);
  while (n < warm_up + count) {
    const std::uint64_t due = ticks() + random() % phase_ticks;
    std::uint64_t start = ticks();
    while (start < due) start = ticks();
    exchange(++n);
    trips.add(ticks_after_reads() - start);
  }
  return trips.percentile_ns(0.5) - clock_ns;
}

template <typename Exchange>
double median_round_trip_ns(Rhythm rhythm, std::uint64_t warm_up, std::uint64_t count,
                            Exchange&& exchange) {
  return rhythm == Rhythm::kOwn ? median_round_trip_ns(warm_up, count, exchange)
                                : median_without_rhythm_ns(warm_up, count, exchange);
}

}  // namespace lapwing::bench
