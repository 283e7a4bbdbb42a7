// A histogram of nanoseconds with buckets of at most 1/32 relative width: percentiles without
// keeping the samples. 64 × 32 counters, no allocation after construction.
//
// Thread safety: one thread.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace lapwing::cli {

class Histogram {
 public:
  // Adds `count` samples of `ns`.
  void add(std::uint64_t ns, std::uint64_t count = 1) {
    counts_[bucket_of(ns)] += count;
    total_ += count;
    if (ns > max_) max_ = ns;
  }

  void add(const Histogram& other) {
    for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
      counts_[bucket] += other.counts_[bucket];
    }
    total_ += other.total_;
    if (other.max_ > max_) max_ = other.max_;
  }

  std::uint64_t total() const { return total_; }
  std::uint64_t max() const { return max_; }

  // The upper edge of the bucket that holds the sample at `fraction` (0 to 1); 0 without samples.
  std::uint64_t percentile(double fraction) const {
    if (total_ == 0) return 0;
    const auto rank = static_cast<std::uint64_t>(fraction * static_cast<double>(total_ - 1)) + 1;
    std::uint64_t seen = 0;
    for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
      seen += counts_[bucket];
      if (seen >= rank) return upper_edge(bucket) < max_ ? upper_edge(bucket) : max_;
    }
    return max_;
  }

 private:
  static constexpr unsigned kSubBits = 5;
  static constexpr std::size_t kBuckets = (64 - kSubBits + 1) << kSubBits;

  // Values below 2^kSubBits have a bucket each; above, 2^kSubBits buckets to each power of two.
  static std::size_t bucket_of(std::uint64_t ns) {
    if (ns < (std::uint64_t{1} << kSubBits)) return ns;
    const unsigned exponent = static_cast<unsigned>(std::bit_width(ns)) - 1;
    const unsigned shift = exponent - kSubBits;
    return (static_cast<std::size_t>(shift + 1) << kSubBits) + ((ns >> shift) - (1U << kSubBits));
  }
  static std::uint64_t upper_edge(std::size_t bucket) {
    if (bucket < (std::size_t{1} << kSubBits)) return bucket;
    const unsigned shift = static_cast<unsigned>(bucket >> kSubBits) - 1;
    const std::uint64_t base = (bucket & ((1U << kSubBits) - 1)) + (1U << kSubBits);
    return ((base + 1) << shift) - 1;
  }

  std::array<std::uint64_t, kBuckets> counts_{};
  std::uint64_t total_ = 0;
  std::uint64_t max_ = 0;
};

}  // namespace lapwing::cli
