// Catch2 3 under the name and with the words of Catch2 2, for the tests where version 3 is
// installed.
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
