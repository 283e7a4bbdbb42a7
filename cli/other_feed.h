// The warning that `record` and `export` print when a DBN file receives records from a feed that
// its metadata does not describe.
//
// Thread safety: free function.
#pragma once

#include <string>

#include "absl/strings/str_cat.h"

namespace lapwing::cli {

inline std::string other_feed(const std::string& file) {
  return absl::StrCat(file,
                      ": the symbols or the dataset of the feed have changed, and the file "
                      "keeps those of its first record. Record with --rotate-every or "
                      "--rotate-bytes to begin a new file for each feed, or export the range "
                      "of each session into a file of its own");
}

}  // namespace lapwing::cli
