// Finds the process that holds a lock, if /proc shows it.
//
// Used for messages, and by os/file_lock.cc, which does not wait for another user's process.
// /proc/locks lists the process that holds an flock, but not the holder of an open file
// description lock (F_OFD_SETLK). /proc/PID/fdinfo shows that lock, for processes that this user
// may examine.
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

// Returns the process that holds the flock on the file `fd`, or nullopt if /proc hides it.
std::optional<LockHolder> flock_holder(int fd);
// The same for a write lock taken with F_OFD_SETLK.
std::optional<LockHolder> write_lock_holder(int fd);

// "process 12 (lapwing, user 1000)"
std::string text_of(const LockHolder& holder);

// The message about a lock whose holder has ended: "the last publisher (pid 12) has ended, and the
// kernel …". `who` is the kind of holder, for example "publisher".
std::string ended_text(const std::string& who, pid_t pid);

// Returns true if no process with that id runs here: it does not exist, or is a zombie.
bool has_ended(pid_t pid);

}  // namespace lapwing
