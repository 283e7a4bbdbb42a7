#include "bench/samples.h"

#include <cmath>

namespace lapwing::bench {

double median_of(std::vector<double> values) {
  if (values.empty()) fail("cannot compute a median without values");
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  if (values.size() % 2 == 1) return values[middle];
  return (values[middle - 1] + values[middle]) / 2;
}

double Samples::percentile_ns(double fraction) {
  if (count_ == 0) fail("cannot compute a percentile without samples");
  const double rank = std::ceil(fraction * static_cast<double>(count_));
  const std::size_t index = std::min(count_, static_cast<std::size_t>(std::max(rank, 1.0))) - 1;
  const auto end = ticks_.begin() + static_cast<std::ptrdiff_t>(count_);
  const auto nth = ticks_.begin() + static_cast<std::ptrdiff_t>(index);
  std::nth_element(ticks_.begin(), nth, end);
  return *nth * ns_per_tick();
}

double Samples::max_ns() const {
  const auto end = ticks_.begin() + static_cast<std::ptrdiff_t>(count_);
  return count_ == 0 ? 0 : *std::max_element(ticks_.begin(), end) * ns_per_tick();
}

Curve Samples::curve_ns() {
  if (count_ == 0) fail("cannot compute a curve without samples");
  std::sort(ticks_.begin(), ticks_.begin() + static_cast<std::ptrdiff_t>(count_));
  Curve curve;
  for (std::size_t i = 0; i < curve.size(); ++i) {
    const double rank = std::ceil(kCurveFractions[i] * static_cast<double>(count_));
    const auto index = static_cast<std::size_t>(std::max(rank, 1.0)) - 1;
    curve[i] = {kCurveFractions[i], ticks_[std::min(index, count_ - 1)] * ns_per_tick()};
  }
  return curve;
}

std::size_t Samples::count_above_ns(double limit_ns) const {
  const double limit_ticks = limit_ns / ns_per_tick();
  const auto end = ticks_.begin() + static_cast<std::ptrdiff_t>(count_);
  return static_cast<std::size_t>(
      std::count_if(ticks_.begin(), end, [&](std::uint32_t t) { return t > limit_ticks; }));
}

}  // namespace lapwing::bench
