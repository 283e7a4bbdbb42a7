// For tests of event loops: tests whether a descriptor is readable. Thread safety: free function.
#pragma once

#include <poll.h>

namespace lapwing {

// Waits up to `timeout_ms`.
inline bool is_readable(int fd, int timeout_ms = 0) {
  pollfd entry{fd, POLLIN, 0};
  return ::poll(&entry, 1, timeout_ms) == 1;
}

}  // namespace lapwing
