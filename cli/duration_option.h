// Durations on the command line: 250ms, 10s, 5m, 1h30m, 1d.
//
//   command.add_option("--every", every_ns, "…")->transform(as_duration_ns());
//
// Thread safety: main's thread.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"

namespace lapwing::cli {

inline constexpr absl::Duration kDurationMax = absl::Hours(24 * 366 * 100);

// The text as a duration above 0; 0 if it is none.
inline absl::Duration parse_duration(absl::string_view text) {
  absl::Duration duration;
  double days = 0;
  if (absl::ConsumeSuffix(&text, "d")) {
    if (!absl::SimpleAtod(text, &days)) return absl::ZeroDuration();
    duration = days * absl::Hours(24);
  } else if (!absl::ParseDuration(text, &duration)) {
    return absl::ZeroDuration();
  }
  const bool fits = duration >= absl::Nanoseconds(1) && duration <= kDurationMax;
  return fits ? duration : absl::ZeroDuration();
}

// For an option bound to a std::uint64_t: nanoseconds.
inline CLI::Validator as_duration_ns() {
  const auto convert = [](std::string& text) -> std::string {
    const absl::Duration duration = parse_duration(text);
    if (duration == absl::ZeroDuration()) {
      return absl::StrCat(text,
                          " is not a duration above 0; give one like 250ms, 10s, 5m, 1h or 1d");
    }
    text = absl::StrCat(absl::ToInt64Nanoseconds(duration));
    return {};
  };
  return CLI::Validator(convert, "");
}

}  // namespace lapwing::cli
