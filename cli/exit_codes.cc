#include "cli/exit_codes.h"

#include <string>

#include "cli/say.h"

namespace lapwing::cli {

int fail(const absl::Status& status) {
  say(LogEntry{LogLevel::kError,
               "error",
               std::string(status.message()),
               {{"errc", name_of(errc_of(status))}}});
  return exit_code_for(errc_of(status));
}

}  // namespace lapwing::cli
