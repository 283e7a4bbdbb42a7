#include "cli/exit_codes.h"

#include <string>

#include "cli/say.h"

namespace lapwing::cli {

int fail(const absl::Status& status) {
  say(std::string(status.message()));
  return exit_code_for(errc_of(status));
}

}  // namespace lapwing::cli
