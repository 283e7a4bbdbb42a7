// The options of a feed that makes its records up: "name=number,…".
//
// Thread safety: a free function.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lapwing/error.h"

namespace lapwing {

// Calls take(name, number) for each, which returns whether that is an option. Errors:
// kInvalidArgument, which names `feed` and its `options`.
template <typename Take>
absl::Status parse_number_options(const std::string& text, const char* feed,
                                  const std::string& options, Take&& take) {
  for (const auto pair : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    const std::pair<std::string, std::string> option =
        absl::StrSplit(pair, absl::MaxSplits('=', 1));
    std::uint64_t number = 0;
    if (absl::SimpleAtoi(option.second, &number) && take(option.first, number)) continue;
    return make_error(Errc::kInvalidArgument,
                      absl::StrCat("\"", pair, "\" is not an option of the ", feed,
                                   " feed; those are ", options));
  }
  return absl::OkStatus();
}

}  // namespace lapwing
