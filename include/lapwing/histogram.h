// A histogram of durations in nanoseconds: counts by size, and percentiles, without storing the
// samples.
//
//   lapwing::FineHistogram took_ns;
//   took_ns.add(end_ns - begin_ns);
//   report(took_ns.percentile(0.5), took_ns.percentile(0.99), took_ns.max());
//
// Each power of two from 2^kFirstPower to below 2^kEndPower has 2^kStepBits buckets of equal width.
// Two more buckets count the smaller and the larger values.
//
// Threads: a value, for one thread at a time. Never allocates.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace lapwing {

template <unsigned kStepBits, unsigned kFirstPower, unsigned kEndPower>
class Histogram {
  static_assert(kStepBits < 32 && kFirstPower < kEndPower && kEndPower <= 64);

 public:
  static constexpr std::size_t kBuckets = (std::size_t{kEndPower - kFirstPower} << kStepBits) + 2;

  // Adds `count` samples of `ns`.
  void add(std::uint64_t ns, std::uint64_t count = 1) {
    counts_[bucket_of(ns)] += count;
    count_ += count;
    std::uint64_t added = 0;
    const bool overflows = __builtin_mul_overflow(ns, count, &added);
    add_to_sum(overflows ? kSumMax : added);
    if (count > 0 && ns > max_) max_ = ns;
  }

  void add(const Histogram& other) {
    for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
      counts_[bucket] += other.counts_[bucket];
    }
    count_ += other.count_;
    add_to_sum(other.sum_);
    max_ = std::max(max_, other.max_);
  }

  std::uint64_t count() const { return count_; }
  std::uint64_t sum() const { return sum_; }  // saturates at 2^64 - 1, which is 584 years
  std::uint64_t max() const { return max_; }  // 0 without samples
  // The count of each bucket; the first bucket is below all others.
  std::span<const std::uint64_t, kBuckets> counts() const { return counts_; }

  // An upper bound of the sample at `fraction` (0 to 1) of all samples, sorted by size. It is the
  // last value of the sample's bucket, and at most max(). 0 without samples.
  std::uint64_t percentile(double fraction) const {
    if (count_ == 0) return 0;
    const double within = fraction > 0 ? std::min(fraction, 1.0) : 0.0;
    const auto rank = static_cast<std::uint64_t>(within * static_cast<double>(count_ - 1)) + 1;
    std::uint64_t seen = 0;
    for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
      seen += counts_[bucket];
      if (seen >= rank) return std::min(last_of(bucket), max_);
    }
    return max_;
  }

  static constexpr std::size_t bucket_of(std::uint64_t ns) {
    if (ns >> kFirstPower == 0) return 0;
    const unsigned power = static_cast<unsigned>(std::bit_width(ns)) - 1;
    if (power >= kEndPower) return kBuckets - 1;
    // The highest bit of `ns`, and the kStepBits bits below it.
    const std::uint64_t lead =
        power >= kStepBits ? ns >> (power - kStepBits) : ns << (kStepBits - power);
    return 1 + (std::size_t{power - kFirstPower} << kStepBits) +
           static_cast<std::size_t>(lead - kSteps);
  }

  // The largest value of the bucket.
  static constexpr std::uint64_t last_of(std::size_t bucket) {
    if (bucket == 0) return (std::uint64_t{1} << kFirstPower) - 1;
    if (bucket >= kBuckets - 1) return std::numeric_limits<std::uint64_t>::max();
    const unsigned power = kFirstPower + static_cast<unsigned>((bucket - 1) >> kStepBits);
    const std::uint64_t lead = kSteps + ((bucket - 1) & (kSteps - 1));
    // For the largest power the shift leaves 0, so the result is 2^64 - 1.
    if (power >= kStepBits) return ((lead + 1) << (power - kStepBits)) - 1;
    return lead >> (kStepBits - power);
  }

 private:
  static constexpr std::uint64_t kSteps = std::uint64_t{1} << kStepBits;
  static constexpr std::uint64_t kSumMax = std::numeric_limits<std::uint64_t>::max();

  void add_to_sum(std::uint64_t added) { sum_ = added > kSumMax - sum_ ? kSumMax : sum_ + added; }

  std::array<std::uint64_t, kBuckets> counts_{};
  std::uint64_t count_ = 0;
  std::uint64_t sum_ = 0;
  std::uint64_t max_ = 0;
};

// Buckets begin at 1 ns. A bucket is at most 1/32 as wide as its values. 16 KiB in size.
using FineHistogram = Histogram<5, 0, 64>;

}  // namespace lapwing
