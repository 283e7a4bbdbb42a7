// Test settings from deploy/test.sh: numbers of repetitions, and the seed.
// Thread safety: as for std::getenv.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <random>

namespace lapwing {

// A count from an environment variable, or `otherwise` if it is not set.
inline std::uint64_t count_from(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// LAPWING_TEST_SEED, or a new seed on each call. Print it, so that a failure can be repeated.
inline std::uint64_t test_seed() {
  return count_from("LAPWING_TEST_SEED", std::random_device{}());
}

}  // namespace lapwing
