// The sentence about the buses that `buses` and `top` do not show.
//
// Thread safety: a free function.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "monitor/count_text.h"
#include "monitor/find_buses.h"

namespace lapwing::cli {

// Empty if all buses are shown.
inline std::string not_shown_text(const LeftOut& counts) {
  std::vector<std::string> parts;
  if (counts.not_permitted > 0) {
    parts.push_back(absl::StrCat(count_text(counts.not_permitted, "directory of another user is",
                                            "directories of other users are"),
                                 " not readable by you"));
  }
  if (counts.not_trusted > 0) {
    parts.push_back(absl::StrCat(count_text(counts.not_trusted, "announcement"),
                                 " ignored: damaged or possibly written by another user"));
  }
  if (counts.not_watched > 0) {
    parts.push_back(absl::StrCat("buses of ", count_text(counts.not_watched, "other user"),
                                 " are not shown (use --user NAME or --user all)"));
  }
  if (counts.beyond_limit > 0) {
    parts.push_back(absl::StrCat(counts.beyond_limit, " more not read (limit reached)"));
  }
  return absl::StrJoin(parts, "; ");
}

}  // namespace lapwing::cli
