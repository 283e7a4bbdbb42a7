#include "cli/exit_codes.h"

#include <iostream>
#include <string>

#include "absl/strings/str_cat.h"

namespace lapwing::cli {

int fail(const absl::Status& status) {
  // One write, so that the lines of two processes on one terminal do not mix.
  std::cerr << absl::StrCat("lapwing: ", std::string(status.message()), "\n");
  return exit_code_for(errc_of(status));
}

}  // namespace lapwing::cli
