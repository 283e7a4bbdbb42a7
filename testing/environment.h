// What deploy/test.sh says to the tests: how often they repeat what they do, and with what seed.
// Thread safety: as std::getenv.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <random>

namespace lapwing {

// A count that the environment may set.
inline std::uint64_t count_from(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// LAPWING_TEST_SEED, or a new one at each call: print it, so that what failed can be repeated.
inline std::uint64_t test_seed() {
  return count_from("LAPWING_TEST_SEED", std::random_device{}());
}

}  // namespace lapwing
