// Lets only one process at a time make a socket at a path, if no other lock ensures that.
//
// A socket that is bound but does not listen yet looks like a stale one. Also, another listener may
// replace a stale socket after it was found and before it is removed. So two listeners that start
// at the same time would remove each other's sockets. Callers of listen_local therefore hold a
// lock. A publisher holds its own lock while it runs. Others use this one, PATH.lock, which is held
// only during the call and then removed.
//
// Thread safety: one thread per object; any number of objects, processes and threads at once.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "os/file_lock.h"
#include "os/local_socket.h"

namespace lapwing {

inline constexpr std::uint64_t kListenLockWaitNs = 1'000'000'000;  // for another listener to finish

class ListenLock {
 public:
  // Takes the lock of the socket at `path`, waiting at most kListenLockWaitNs for another listener.
  // Errors: kInUse (another one still holds it), kNotALapwingFile (PATH.lock is not a regular
  // file), kNotPermitted (it is another user's, or this process may not create it), kNotFound (no
  // such directory), kPathTooLong, kSystem.
  static absl::StatusOr<ListenLock> take(const std::string& path, const SocketKind& kind);

  ListenLock(ListenLock&&) = default;
  ListenLock& operator=(ListenLock&&) = delete;
  ~ListenLock();

 private:
  explicit ListenLock(LockFile lock) : lock_(std::move(lock)) {}

  LockFile lock_;
};

}  // namespace lapwing
