// Restores a publisher's lock files if they are removed, for example by a cleanup job. Without the
// file, the next start would not find the lock.
//
// This is a second line of defence: a start also checks the socket, the ring and `sessions`, which
// are locked themselves (session_start.cc). But a removed lock file should be restored, and the
// operator should learn of it.
//
// The lock of a moved directory stays in that directory. A new directory at
// the old path is not ours, and is left unchanged.
//
// Thread safety: the one thread that calls look(). Borrows the locks.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "bus/open_ring.h"
#include "lapwing/log.h"
#include "os/exclusive_lock.h"

namespace lapwing {

inline constexpr std::uint64_t kLockWatchNs = 1'000'000'000;

class LockWatch {
 public:
  LockWatch(std::vector<ExclusiveLock>& locks, LogHook log);

  // Checks the lock files at most once every kLockWatchNs. Recreates and logs removed ones. If
  // another process holds a lock file that replaced one of ours, logs that once, and takes the lock
  // when that process ends.
  void look(std::uint64_t now_ns);

 private:
  void take_again(ExclusiveLock& lock);

  std::vector<ExclusiveLock>* locks_;
  std::vector<DirectoryIdentity> directories_;  // of the locks, in the same order
  LogHook log_;
  std::set<std::string> others_;  // paths where another process's lock was found
  std::uint64_t next_ns_ = 0;
};

}  // namespace lapwing
