// The counts on page 1 of the ring file. Monitors read them; no thread waits for them.
//
// Every access is relaxed, because a count does not order anything else, and a slightly old count
// is harmless. A reader may see a count before the counted event, and counts from different
// moments.
//
// Thread safety: each word has one writer, a thread of the publisher. The publishing thread writes
// idle_wakes and stalls, the file thread journal_bytes and syncs, and the service thread the
// others.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "lapwing/detail/atomic_word.h"
#include "proto/ring_layout.h"

namespace lapwing {

inline void store_count(PaddedWord& word, std::uint64_t count) {
  detail::store(word.value, count, std::memory_order_relaxed);
}
inline std::uint64_t load_count(const PaddedWord& word) {
  return detail::load(word.value, std::memory_order_relaxed);
}
// Returns the index in RingDurations::counts for a duration.
constexpr std::size_t duration_count_of(std::uint64_t ns) {
  if (ns <= kDurationFirstNs) return 0;
  const auto index = static_cast<std::size_t>(std::bit_width((ns - 1) / kDurationFirstNs));
  return std::min(index, kDurationCounts - 1);
}
// Returns the longest duration in counts[index]. The last count has no limit.
constexpr std::uint64_t duration_limit_ns(std::size_t index) {
  return kDurationFirstNs << index;
}

// RingDurations as a value.
struct Durations {
  std::array<std::uint64_t, kDurationCounts> counts{};
  std::uint64_t sum_ns = 0;

  void add(std::uint64_t ns) {
    ++counts[duration_count_of(ns)];
    sum_ns += ns;
  }
  std::uint64_t count() const { return std::accumulate(counts.begin(), counts.end(), Word{0}); }

  friend bool operator==(const Durations&, const Durations&) = default;
};

inline void store_durations(RingDurations& words, const Durations& durations) {
  for (std::size_t i = 0; i < kDurationCounts; ++i) {
    detail::store(words.counts[i], durations.counts[i], std::memory_order_relaxed);
  }
  detail::store(words.sum_ns, durations.sum_ns, std::memory_order_relaxed);
}
inline Durations load_durations(const RingDurations& words) {
  Durations durations;
  for (std::size_t i = 0; i < kDurationCounts; ++i) {
    durations.counts[i] = detail::load(words.counts[i], std::memory_order_relaxed);
  }
  durations.sum_ns = detail::load(words.sum_ns, std::memory_order_relaxed);
  return durations;
}

}  // namespace lapwing
