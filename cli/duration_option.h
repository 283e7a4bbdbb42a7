// Durations on the command line: 250ms, 10s, 5m, 1h30m, 1d.
//
//   command.add_option("--every", every_ns, "…")->transform(as_duration_ns());
//   command.add_option("--linger", linger_ns, "…")->transform(as_duration_ns({.zero = true}));
//
// A duration has a unit. Only 0 needs none, and only options to which a time of zero has a meaning
// accept it.
//
// Thread safety: main's thread.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"

namespace lapwing::cli {

inline constexpr absl::Duration kDurationMax = absl::Hours(24 * 366 * 100);
inline constexpr std::uint64_t kForeverNs = std::numeric_limits<std::int64_t>::max();

// The text as a duration: 0, or 1 ns to kDurationMax; else nullopt.
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

// What an option takes besides a duration above 0.
struct DurationChoice {
  bool zero = false;
  const char* word = nullptr;  // such as "forever"; its value is word_ns
  std::uint64_t word_ns = 0;
};

// For an option bound to a std::uint64_t: nanoseconds.
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
