// A preallocated list of durations and its percentiles.
//
// Thread safety: one thread. add() neither allocates nor faults, because the memory is touched in
// advance.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/machine.h"

namespace lapwing::bench {

// The middle value; for an even number the mean of the middle two.
double median_of(std::vector<double> values);

// A point of a percentile curve: `fraction` of the samples took at most `ns`.
struct CurvePoint {
  double fraction = 0;
  double ns = 0;
};
// The fractions of every curve, so that curves can be compared. The last one is the maximum.
inline constexpr std::array kCurveFractions = {0.0,    0.01,    0.1,     0.25,     0.5,   0.75,
                                               0.9,    0.95,    0.99,    0.995,    0.999, 0.9995,
                                               0.9999, 0.99995, 0.99999, 0.999999, 1.0};
// Has a fixed size, so that a process can pass it to another.
using Curve = std::array<CurvePoint, kCurveFractions.size()>;

class Samples {
 public:
  explicit Samples(std::size_t capacity) : ticks_(capacity) {}

  void clear() { count_ = 0; }
  std::size_t size() const { return count_; }
  // A duration beyond 32 bits of ticks, more than a second, is stored as the maximum.
  void add(std::uint64_t duration_ticks) {
    ticks_[count_++] = static_cast<std::uint32_t>(std::min<std::uint64_t>(duration_ticks, ~0u));
  }
  // The smallest duration that `fraction` of the samples do not exceed. Reorders the samples.
  double percentile_ns(double fraction);
  double max_ns() const;
  Curve curve_ns();  // reorders the samples
  std::size_t count_above_ns(double limit_ns) const;

 private:
  std::vector<std::uint32_t> ticks_;
  std::size_t count_ = 0;
};

}  // namespace lapwing::bench
