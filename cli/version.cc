#include "cli/version.h"

#include <lapwing_revision.h>  // by cmake/Revision.cmake
#include "absl/strings/str_cat.h"

namespace lapwing::cli {

std::string release() {
  return LAPWING_VERSION;
}

std::string release_date() {
  return LAPWING_DATE;
}

std::string revision() {
  return LAPWING_REVISION;
}

std::string version_line() {
  const std::string line = absl::StrCat("lapwing ", release());
  return revision().empty() ? line : absl::StrCat(line, " (", revision(), ")");
}

}  // namespace lapwing::cli
