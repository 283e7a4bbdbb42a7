// Option validators. Invalid values are refused before the command begins, with a message that
// names the option.
//
//   command.add_option("--keep", keep, "…")->check(whole_number(1));
//   command.add_option("--size", size, "…")->transform(size_in_bytes(0, 1 << 20));
//   command.add_option("--linger", linger_ns, "…")->transform(as_duration_ns({.zero = true}));
//
// CLI11 converts -1 to the largest unsigned number, so numbers are checked here. A duration has a
// unit (250ms, 10s, 5m, 1h30m, 1d). Only 0 needs no unit, and it is accepted only by options that
// define a time of zero.
//
// Thread safety: main's thread.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"

namespace lapwing::cli {

// For an option with a non-empty default.
inline CLI::Validator not_empty() {
  return CLI::Validator(
      [](const std::string& text) { return text.empty() ? std::string("it is empty") : ""; }, "");
}

// Accepts `old_name` in place of `name`.
inline CLI::Validator renamed(const std::string& old_name, const std::string& name) {
  const auto rename = [=](std::string& text) -> std::string {
    if (text == old_name) text = name;
    return {};
  };
  return CLI::Validator(rename, "");
}

// The names in a table from lapwing/detail/enum_names.h, and the value of a name.
template <typename Table>
std::vector<std::string> names_in(const Table& table) {
  std::vector<std::string> names;
  for (const auto& entry : table) names.emplace_back(entry.name);
  return names;
}
template <typename Table>
auto value_in(const Table& table, const std::string& name) {
  return std::ranges::find(table, name, [](const auto& entry) { return std::string(entry.name); })
      ->value;
}

// `parse` takes a text and returns a StatusOr.
template <typename Parse>
CLI::Validator parsed_by(Parse parse) {
  const auto check = [parse = std::move(parse)](const std::string& text) -> std::string {
    return std::string(parse(text).status().message());
  };
  return CLI::Validator(check, "");
}

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

// Parses a number of bytes: digits, optionally followed by K, M, G or T for powers of 1,024, which
// B or iB may follow, in either case. Returns false if the text is not valid.
inline bool parse_bytes(absl::string_view text, std::uint64_t& bytes) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  if (!absl::SimpleAtoi(text.substr(0, digits), &bytes)) return false;
  const std::string unit = absl::AsciiStrToLower(text.substr(digits));
  if (unit.empty() || unit == "b") return true;
  const std::size_t power = absl::string_view("kmgt").find(unit[0]) + 1;  // 0: not a unit
  const absl::string_view rest = absl::string_view(unit).substr(1);
  if (power == 0 || !(rest.empty() || rest == "b" || rest == "ib")) return false;
  if (bytes > kNoMax >> (10 * power)) return false;
  bytes <<= 10 * power;
  return true;
}

// For an option that is bound to a number of bytes.
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

inline constexpr absl::Duration kDurationMax = absl::Hours(24 * 366 * 100);
inline constexpr std::uint64_t kForeverNs = std::numeric_limits<std::int64_t>::max();

// Parses a duration: 0, or 1 ns to kDurationMax. Returns nullopt if the text is not valid.
inline std::optional<absl::Duration> parse_duration(absl::string_view text) {
  absl::Duration duration;
  double days = 0;
  if (absl::ConsumeSuffix(&text, "d")) {
    if (!absl::SimpleAtod(text, &days)) return std::nullopt;
    duration = days * absl::Hours(24);
  } else if (!absl::ParseDuration(text, &duration)) {
    return std::nullopt;
  }
  if (duration == absl::ZeroDuration()) return duration;
  if (duration < absl::Nanoseconds(1) || duration > kDurationMax) return std::nullopt;
  return duration;
}

// Values that an option accepts in addition to a duration above 0.
struct DurationChoice {
  bool zero = false;
  const char* word = nullptr;  // such as "forever"; it means word_ns
  std::uint64_t word_ns = 0;
};

// For an option bound to a std::uint64_t in nanoseconds.
inline CLI::Validator as_duration_ns(DurationChoice choice = {}) {
  const auto convert = [choice](std::string& text) -> std::string {
    if (choice.word != nullptr && text == choice.word) {
      text = absl::StrCat(choice.word_ns);
      return {};
    }
    const std::optional<absl::Duration> duration = parse_duration(text);
    if (!duration || (*duration == absl::ZeroDuration() && !choice.zero)) {
      const std::string word = choice.word == nullptr ? "" : absl::StrCat(", or ", choice.word);
      return absl::StrCat(text, " is not a duration", choice.zero ? "" : " above 0",
                          ". Use a number with a unit, such as 250ms, 10s, 5m, 1h or 1d", word,
                          ".");
    }
    text = absl::StrCat(absl::ToInt64Nanoseconds(*duration));
    return {};
  };
  return CLI::Validator(convert, "");
}

}  // namespace lapwing::cli
