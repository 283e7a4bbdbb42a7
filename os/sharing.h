// Sets who may use a file or directory in addition to its owner: the members of a group, or no
// other user.
//
// Thread safety: free function.
#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"

namespace lapwing {

// Sets the group of `fd`, if one is given, and then its mode, regardless of the umask. In this
// order, the file is never accessible to the wrong group. `path` is for messages. Errors:
// kNotPermitted (the owner is not a member), kSystem.
absl::Status share(int fd, const std::string& path, std::optional<unsigned> group, unsigned mode);

}  // namespace lapwing
