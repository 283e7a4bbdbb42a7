#include "os/sharing.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "os/system_error.h"

namespace lapwing {

absl::Status share(int fd, const std::string& path, std::optional<unsigned> group, unsigned mode) {
  if (group && ::fchown(fd, static_cast<uid_t>(-1), *group) != 0) {
    return make_system_error(errno, absl::StrCat("cannot give ", path, " to group ", *group,
                                                 " (its owner must be a member)"));
  }
  if (::fchmod(fd, mode) != 0) {
    return make_system_error(errno, absl::StrCat("cannot set the mode of ", path));
  }
  return absl::OkStatus();
}

}  // namespace lapwing
