// Provides Catch2 3 with the header name and the macros of Catch2 2, for systems with version 3.
#pragma once

#include <catch2/catch_all.hpp>
#include <cstdint>
#include <string>

using Catch::Approx;

namespace Catch {

inline auto Contains(const std::string& part) {
  return Matchers::ContainsSubstring(part);
}
inline auto EndsWith(const std::string& part) {
  return Matchers::EndsWith(part);
}
inline std::uint32_t rngSeed() {
  return getSeed();
}

}  // namespace Catch
