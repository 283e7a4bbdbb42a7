// Numbers on the command line: refused with a sentence when they are none, or out of bounds.
//
//   command.add_option("--keep", keep, "…")->check(whole_number(1));
//   command.add_option("--size", size, "…")->transform(size_in_bytes(0, 1 << 20));
//
// By itself CLI11 takes -1 for the largest number there is.
//
// Thread safety: main's thread.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace lapwing::cli {

inline constexpr std::uint64_t kNoMax = std::numeric_limits<std::uint64_t>::max();

inline std::string bounds_text(std::uint64_t min, std::uint64_t max) {
  return absl::StrCat(" from ", min, max == kNoMax ? " on" : absl::StrCat(" to ", max));
}

// Decimal digits only: no sign, no fraction, no unit.
inline CLI::Validator whole_number(std::uint64_t min, std::uint64_t max = kNoMax) {
  const auto check = [min, max](const std::string& text) -> std::string {
    std::uint64_t value = 0;
    if (absl::SimpleAtoi(text, &value) && value >= min && value <= max) return {};
    return absl::StrCat(text, " is not a whole number", bounds_text(min, max));
  };
  return CLI::Validator(check, "");
}

// The text as a number of bytes: digits, and K, M, G or T for powers of 1,024, which a B or iB may
// follow; of either case. False if it is none.
inline bool parse_bytes(absl::string_view text, std::uint64_t& bytes) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  if (!absl::SimpleAtoi(text.substr(0, digits), &bytes)) return false;
  const std::string unit = absl::AsciiStrToLower(text.substr(digits));
  if (unit.empty() || unit == "b") return true;
  const std::size_t power = absl::string_view("kmgt").find(unit[0]) + 1;  // 0: none of them
  const absl::string_view rest = absl::string_view(unit).substr(1);
  if (power == 0 || !(rest.empty() || rest == "b" || rest == "ib")) return false;
  if (bytes > kNoMax >> (10 * power)) return false;
  bytes <<= 10 * power;
  return true;
}

// For an option bound to a number of bytes.
inline CLI::Validator size_in_bytes(std::uint64_t min, std::uint64_t max = kNoMax) {
  const auto convert = [min, max](std::string& text) -> std::string {
    std::uint64_t bytes = 0;
    if (!parse_bytes(text, bytes) || bytes < min || bytes > max) {
      return absl::StrCat(text, " is not a size", bounds_text(min, max),
                          " bytes; give one like 65536, 64K, 100M or 1G");
    }
    text = absl::StrCat(bytes);
    return {};
  };
  return CLI::Validator(convert, "");
}

}  // namespace lapwing::cli
