#include "cli/say.h"

#include <iostream>

#include "absl/strings/str_cat.h"

namespace lapwing::cli {

void say(const std::string& line) {
  std::cerr << absl::StrCat("lapwing: ", printable(line), "\n");
}

}  // namespace lapwing::cli
