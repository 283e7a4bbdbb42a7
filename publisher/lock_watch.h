// Sees to it that a publisher's lock files keep their names: somebody may clean them away, and
// the next start would find no lock.
//
// It is a second line: a starter also asks the socket, the ring and `sessions`, which are locked
// themselves (session_start.cc). But a lock file that is gone should be there again, and its owner
// should know.
//
// A directory that was moved keeps its lock: what lies at its old path now is somebody else's and
// is left alone.
//
// Thread safety: one thread, the one that looks. Borrows the locks.
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

  // Once every kLockWatchNs: makes the lock files that are gone again, and says so; says once if
  // another process holds one that was put in the place of ours, and takes it when that one ends.
  void look(std::uint64_t now_ns);

 private:
  void take_again(ExclusiveLock& lock);

  std::vector<ExclusiveLock>* locks_;
  std::vector<DirectoryIdentity> directories_;  // of the locks, in their order
  LogHook log_;
  std::set<std::string> others_;  // paths at which another process's lock was met
  std::uint64_t next_ns_ = 0;
};

}  // namespace lapwing
