// A directory of this run below another one, removed with its contents.
//
// Thread safety: one thread.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "bench/machine.h"

namespace lapwing::bench {

class PrivateDirectory {
 public:
  explicit PrivateDirectory(const std::string& parent)
      : path_(absl::StrCat(parent, "/lapwing-bench-XXXXXX")) {
    if (mkdtemp(path_.data()) == nullptr) fail(absl::StrCat("cannot make a directory in ", parent));
  }
  ~PrivateDirectory() {
    std::error_code ignored;  // remaining files are in a directory with an identifying name
    std::filesystem::remove_all(path_, ignored);
  }
  PrivateDirectory(const PrivateDirectory&) = delete;
  PrivateDirectory& operator=(const PrivateDirectory&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace lapwing::bench
