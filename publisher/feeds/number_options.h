// Parses the options of a feed that generates its records: "name=number,…".
//
// Thread safety: free function.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lapwing/error.h"

namespace lapwing {

struct NumberOption {
  const char* name;
  std::uint64_t* value;
  std::uint64_t min = 0;
  std::uint64_t max = UINT64_MAX;
};

// Stores each number in its option's variable. Errors: kInvalidArgument, whose message contains
// `feed` and `words`, the list of the feed's options.
inline absl::Status parse_number_options(const std::string& text, const char* feed,
                                         const std::string& words,
                                         std::initializer_list<NumberOption> options) {
  const auto take = [&](const std::string& name, std::uint64_t number) {
    for (const NumberOption& option : options) {
      if (name != option.name || number < option.min || number > option.max) continue;
      *option.value = number;
      return true;
    }
    return false;
  };
  for (const auto pair : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    const std::pair<std::string, std::string> option =
        absl::StrSplit(pair, absl::MaxSplits('=', 1));
    std::uint64_t number = 0;
    if (absl::SimpleAtoi(option.second, &number) && take(option.first, number)) continue;
    return make_error(
        Errc::kInvalidArgument,
        absl::StrCat("\"", pair, "\" is not an option of the ", feed, " feed; those are ", words));
  }
  return absl::OkStatus();
}

}  // namespace lapwing
