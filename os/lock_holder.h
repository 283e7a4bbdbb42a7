// Which process holds a lock, as far as /proc shows it.
//
// For messages, and for os/file_lock.cc, which does not wait for another user's process. The kernel
// lists an flock with its process in /proc/locks. A lock of an open file description (F_OFD_SETLK)
// has no process there; /proc/PID/fdinfo shows it, of processes that this user may examine.
//
// Thread safety: free functions.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace lapwing {

struct LockHolder {
  pid_t pid = 0;
  uid_t user = 0;
  std::string command;
};

// The process that holds the flock of the file that is open as `fd`; nothing if /proc hides it.
std::optional<LockHolder> flock_holder(int fd);
// The same of the write lock of F_OFD_SETLK.
std::optional<LockHolder> write_lock_holder(int fd);

// "process 12 (lapwing, user 1000)"
std::string text_of(const LockHolder& holder);

// What to say of a lock whose holder, "publisher" for one, has ended: "the last publisher (pid 12) has
// ended, and the kernel …".
std::string ended_text(const std::string& who, pid_t pid);

// Whether no process of that number runs here: none exists, or only its exit code is left.
bool has_ended(pid_t pid);

}  // namespace lapwing
