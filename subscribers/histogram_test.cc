#include "lapwing/histogram.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <limits>

namespace lapwing {
namespace {

constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max();
using Coarse = Histogram<2, 6, 34>;

TEMPLATE_TEST_CASE("Every value is in the bucket whose last value is the next at or above it", "",
                   Coarse, FineHistogram) {
  const auto is_in_its_bucket = [](std::uint64_t ns) {
    const std::size_t bucket = TestType::bucket_of(ns);
    return bucket < TestType::kBuckets && ns <= TestType::last_of(bucket) &&
           (bucket == 0 || ns > TestType::last_of(bucket - 1));
  };
  for (std::uint64_t ns = 0; ns < 5000; ++ns) REQUIRE(is_in_its_bucket(ns));
  for (unsigned power = 1; power < 64; ++power) {
    const std::uint64_t round = std::uint64_t{1} << power;
    for (const std::uint64_t ns : {round - 1, round, round + 1, round + round / 3}) {
      REQUIRE(is_in_its_bucket(ns));
    }
  }
  CHECK(is_in_its_bucket(kLargest));
}

TEST_CASE("Four buckets per power of two cover 64 ns to 17 s, and two cover the rest") {
  CHECK(Coarse::kBuckets == 4 * 28 + 2);
  CHECK(Coarse::bucket_of(0) == 0);
  CHECK(Coarse::bucket_of(63) == 0);
  CHECK(Coarse::bucket_of(64) == 1);
  CHECK(Coarse::last_of(1) == 79);
  CHECK(Coarse::bucket_of(80) == 2);
  CHECK(Coarse::last_of(4) == 127);
  CHECK(Coarse::bucket_of((std::uint64_t{1} << 34) - 1) == Coarse::kBuckets - 2);
  CHECK(Coarse::bucket_of(std::uint64_t{1} << 34) == Coarse::kBuckets - 1);
  CHECK(Coarse::last_of(Coarse::kBuckets - 1) == kLargest);
}

TEST_CASE("The fine histogram is exact up to 63, and at most 1/32 too large beyond") {
  for (std::uint64_t ns = 0; ns < 64; ++ns) {
    CHECK(FineHistogram::last_of(FineHistogram::bucket_of(ns)) == ns);
  }
  for (std::uint64_t ns = 64; ns < kLargest / 5; ns = ns * 5 / 3) {
    const std::uint64_t last = FineHistogram::last_of(FineHistogram::bucket_of(ns));
    CHECK(last - ns <= ns / 32);
  }
}

TEST_CASE("A percentile is the last value of its sample's bucket, but never beyond the largest") {
  Coarse ages;
  for (std::uint64_t ns = 100; ns <= 10'000; ns += 100) ages.add(ns);
  CHECK(ages.count() == 100);
  CHECK(ages.max() == 10'000);
  CHECK(ages.sum() == 505'000);
  CHECK(ages.percentile(0) == 111);  // 100: from 96 to 111
  CHECK(ages.percentile(0.5) == 5119);
  CHECK(ages.percentile(1) == 10'000);
  CHECK(ages.percentile(-1) == ages.percentile(0));
  CHECK(ages.percentile(2) == ages.percentile(1));
  CHECK(ages.percentile(std::numeric_limits<double>::quiet_NaN()) == ages.percentile(0));
}

TEST_CASE("Values below and above all buckets are counted, and the largest is kept") {
  Coarse ages;
  ages.add(0);
  ages.add(5);
  CHECK(ages.percentile(0.5) == 5);  // the bucket extends to 63
  ages.add(std::uint64_t{1} << 40, 3);
  CHECK(ages.counts().front() == 2);
  CHECK(ages.counts().back() == 3);
  CHECK(ages.percentile(0.9) == std::uint64_t{1} << 40);
}

TEST_CASE("Without a sample everything is 0") {
  Coarse ages;
  ages.add(1000, 0);
  CHECK(ages.count() == 0);
  CHECK(ages.sum() == 0);
  CHECK(ages.max() == 0);
  CHECK(ages.percentile(0.5) == 0);
}

TEST_CASE("The sum of two histograms is that of all samples") {
  Coarse one;
  Coarse other;
  Coarse all;
  for (std::uint64_t ns = 1; ns < 1'000'000; ns = 3 * ns + 1) {
    (ns % 2 == 0 ? one : other).add(ns, ns % 5);
    all.add(ns, ns % 5);
  }
  one.add(other);
  CHECK(one.count() == all.count());
  CHECK(one.sum() == all.sum());
  CHECK(one.max() == all.max());
  for (std::size_t bucket = 0; bucket < Coarse::kBuckets; ++bucket) {
    CHECK(one.counts()[bucket] == all.counts()[bucket]);
  }
}

TEST_CASE("A sum that does not fit stays at the largest number") {
  Coarse ages;
  ages.add(kLargest / 2);
  CHECK(ages.sum() == kLargest / 2);
  ages.add(kLargest / 2, 3);
  CHECK(ages.sum() == kLargest);
  ages.add(1);
  CHECK(ages.sum() == kLargest);
  Coarse more;
  more.add(7);
  more.add(ages);
  CHECK(more.sum() == kLargest);
}

}  // namespace
}  // namespace lapwing
