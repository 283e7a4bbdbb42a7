#include "bench/sign_flip.h"

#include <cstdint>

#include "bench/machine.h"

namespace lapwing::bench {

double sign_flip_probability(std::span<const double> differences) {
  if (differences.empty() || differences.size() > kPairsMax)
    fail("a sign-flip test needs 1 to 20 pairs");
  double seen = 0;
  for (const double difference : differences) seen += difference;
  const std::uint32_t ways = std::uint32_t{1} << differences.size();
  std::uint32_t as_large = 0;
  for (std::uint32_t signs = 0; signs < ways; ++signs) {
    double sum = 0;
    for (std::size_t i = 0; i < differences.size(); ++i) {
      sum += (signs >> i & 1) != 0 ? -differences[i] : differences[i];
    }
    if (sum >= seen) ++as_large;
  }
  return static_cast<double>(as_large) / ways;
}

}  // namespace lapwing::bench
