// Lets one process at a time make a socket at a path, where no other lock sees to that.
//
// A socket that is bound and does not listen yet looks like a stale one, and between finding a
// stale socket and removing it another listener may have put its own there: two listeners that
// start at once would remove each other's socket. So whoever calls listen_local holds a lock. A
// publisher has its own, for as long as it lives; this one is PATH.lock, held only meanwhile, and
// gone afterwards.
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

inline constexpr std::uint64_t kListenLockWaitNs = 1'000'000'000;  // for another one to be done

class ListenLock {
 public:
  // Takes the lock of the socket at `path`, waiting at most kListenLockWaitNs for another listener.
  // Errors: kInUse (another one holds it still), kNotALapwingFile (what is at PATH.lock is not a
  // plain file), kNotPermitted (it is another user's, or we may make none), kNotFound (no such
  // directory), kPathTooLong, kSystem.
  static absl::StatusOr<ListenLock> take(const std::string& path, const SocketKind& kind);

  ListenLock(ListenLock&&) = default;
  ListenLock& operator=(ListenLock&&) = delete;
  ~ListenLock();

 private:
  explicit ListenLock(LockFile lock) : lock_(std::move(lock)) {}

  LockFile lock_;
};

}  // namespace lapwing
