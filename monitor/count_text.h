// Formats counts as text, consistently in every command and event.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace lapwing {

// "1 bus", "2 buses".
inline std::string count_text(std::uint64_t count, std::string_view one, std::string_view several) {
  return absl::StrCat(count, " ",
                      count == 1 ? absl::string_view(one.data(), one.size())
                                 : absl::string_view(several.data(), several.size()));
}

// "1 record", "2 records".
inline std::string count_text(std::uint64_t count, std::string_view thing) {
  return count_text(count, thing, std::string(thing) + "s");
}

}  // namespace lapwing
