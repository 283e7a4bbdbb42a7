// A preallocated list of durations and its percentiles.
//
// Thread safety: one thread. add() neither allocates nor faults: the memory is touched up front.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/machine.h"

namespace lapwing::bench {

// The middle value; of an even number the mean of the middle two.
double median_of(std::vector<double> values);

class Samples {
 public:
  explicit Samples(std::size_t capacity) : ticks_(capacity) {}

  void clear() { count_ = 0; }
  std::size_t size() const { return count_; }
  // A duration beyond 32 bits of ticks, more than a second, counts as that.
  void add(std::uint64_t duration_ticks) {
    ticks_[count_++] = static_cast<std::uint32_t>(std::min<std::uint64_t>(duration_ticks, ~0u));
  }
  // The smallest duration that `fraction` of the samples do not exceed. Reorders the samples.
  double percentile_ns(double fraction);
  double max_ns() const;
  std::size_t count_above_ns(double limit_ns) const;

 private:
  std::vector<std::uint32_t> ticks_;
  std::size_t count_ = 0;
};

}  // namespace lapwing::bench
