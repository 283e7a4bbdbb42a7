#include "cli/exit_codes.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "cli/say.h"

namespace lapwing::cli {

std::string exit_codes_help() {
  std::string help = "Exit codes:";
  for (const ExitCodeMeaning& one : kExitCodes) {
    absl::StrAppend(&help, "\n  ", one.code, "  ", one.meaning);
  }
  return help;
}

int fail(const absl::Status& status) {
  say(LogEntry{LogLevel::kError,
               "error",
               std::string(status.message()),
               {{"errc", name_of(errc_of(status))}}});
  return exit_code_for(errc_of(status));
}

int fail_usage(const std::string& why) {
  return fail(make_error(Errc::kInvalidArgument, why));
}

}  // namespace lapwing::cli
