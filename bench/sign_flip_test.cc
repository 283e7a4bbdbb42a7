#include "bench/sign_flip.h"

#include <catch2/catch.hpp>
#include <vector>

namespace lapwing::bench {
namespace {

TEST_CASE("Ten pairs that all got worse have a chance of 1 in 1,024") {
  const std::vector<double> worse(10, 3.0);
  CHECK(sign_flip_probability(worse) == Approx(1.0 / 1024));
}

TEST_CASE("An improvement is not evidence of a regression") {
  const std::vector<double> better(10, -3.0);
  CHECK(sign_flip_probability(better) == Approx(1.0));
}

TEST_CASE("No difference is not evidence") {
  const std::vector<double> same(10, 0.0);
  CHECK(sign_flip_probability(same) == Approx(1.0));
}

TEST_CASE("Three pairs can be counted by hand") {
  // Only two of the eight sums of ±1 ±2 ±4 reach 5: 7 and 5.
  const std::vector<double> mixed = {-1, 2, 4};
  CHECK(sign_flip_probability(mixed) == Approx(2.0 / 8));
}

TEST_CASE("One outlier does not make a difference significant") {
  const std::vector<double> wild = {1000, 1, -1, 2, -2, 1, -1, 2, -2, -1};
  CHECK(sign_flip_probability(wild) > kSignificance);
}

}  // namespace
}  // namespace lapwing::bench
