// A log-linear histogram of durations and its percentiles, the same in all of the peers' languages.
//
// Below 128 ns a bucket is one nanosecond. Above, there are 64 buckets per power of two. A
// percentile is the largest duration of its bucket, or the exact maximum if that is smaller, so it
// is never too small.
//
// Thread safety: one thread. add() neither allocates nor faults, because the memory is touched in
// advance.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lapwing::peers {

class Histogram {
 public:
  Histogram() : counts_(kBuckets, 0) {}

  void add(std::uint64_t duration_ns) {
    ++counts_[bucket_of(duration_ns)];
    ++count_;
    max_ = std::max(max_, duration_ns);
  }

  std::uint64_t count() const { return count_; }
  std::uint64_t max_ns() const { return max_; }

  // The end of the smallest bucket that `fraction` of the durations do not exceed; 0 if there are
  // none.
  std::uint64_t percentile_ns(double fraction) const {
    const double rank = std::max(1.0, std::ceil(fraction * static_cast<double>(count_)));
    std::uint64_t seen = 0;
    for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
      seen += counts_[bucket];
      if (static_cast<double>(seen) >= rank) return std::min(last_of(bucket), max_);
    }
    return max_;
  }

 private:
  static constexpr int kBits = 6;
  static constexpr std::size_t kExact = std::size_t{2} << kBits;
  static constexpr std::size_t kBuckets = (std::size_t{64 - kBits - 1} << kBits) + kExact;

  static std::size_t bucket_of(std::uint64_t value) {
    if (value < kExact) return value;
    const int shift = static_cast<int>(std::bit_width(value)) - 1 - kBits;
    return (static_cast<std::size_t>(shift) << kBits) + (value >> shift);
  }
  static std::uint64_t last_of(std::size_t bucket) {
    if (bucket < kExact) return bucket;
    const std::size_t shift = (bucket >> kBits) - 1;
    const std::uint64_t first = (bucket & ((std::size_t{1} << kBits) - 1)) + (kExact >> 1);
    return ((first + 1) << shift) - 1;
  }

  std::vector<std::uint64_t> counts_;
  std::uint64_t count_ = 0;
  std::uint64_t max_ = 0;
};

}  // namespace lapwing::peers
