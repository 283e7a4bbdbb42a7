// Who may use a file or directory besides its owner: the members of one group, or nobody.
//
// Thread safety: free function.
#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"

namespace lapwing {

// Gives what is open as `fd` to `group`, where there is one, and then sets its mode, whatever the
// umask: never is it open to a group that is not meant. `path` is for messages. Errors:
// kNotPermitted (the owner is not a member), kSystem.
absl::Status share(int fd, const std::string& path, std::optional<unsigned> group, unsigned mode);

}  // namespace lapwing
