// How often a test repeats what it does, as deploy/test.sh says. Thread safety: as std::getenv.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace lapwing {

// A count that the environment may set.
inline std::uint64_t count_from(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

}  // namespace lapwing
