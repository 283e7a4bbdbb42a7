#include "cli/exit_codes.h"

#include <iostream>

namespace lapwing::cli {

int fail(const absl::Status& status) {
  std::cerr << "lapwing: " << status.message() << '\n';
  return exit_code_for(errc_of(status));
}

}  // namespace lapwing::cli
