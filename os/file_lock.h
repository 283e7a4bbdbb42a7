// Locks of files, of the open file description: the kernel holds one until every duplicate of its
// descriptor is closed, and no close() of another descriptor of this process gives it up.
//
// There are two independent kinds. flock() is for a file that exists to be locked; only its owner
// can open that file. The lock of a range (F_OFD_SETLK), here of the whole file, is for a file with
// contents that others may read.
//
// A process with read permission only cannot keep a writer out:
//  - An flock does not need write permission. So a lock file gets mode 0600 again if it had another
//    one, and is replaced if a process of another user, other than root, holds it.
//  - A write lock of a range needs a writable descriptor. A reader can take a read lock, and can
//    wait for it while a writer has the file. lock_against_writers() ignores read locks.
//
// Thread safety: free functions.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "os/named_file.h"
#include "os/unique_fd.h"

namespace lapwing {

// How long, and how often, a starter asks for a lock: the kernel may still be ending the last write
// of a publisher that was killed, and holds its locks until then.
inline constexpr std::uint64_t kLockRetryNs = 10'000'000'000;
inline constexpr int kLockRetryIntervalMs = 20;

// When a retry ends that began now. A wait without end is one of 31 years: the clock has no more.
inline std::chrono::steady_clock::time_point retry_deadline(std::uint64_t retry_ns) {
  constexpr std::uint64_t kRetryNsMax = 1'000'000'000'000'000'000;
  return std::chrono::steady_clock::now() +
         std::chrono::nanoseconds(std::min(retry_ns, kRetryNsMax));
}

// Calls attempt() until it gives something else than EWOULDBLOCK or EINTR, or retry_ns have passed.
// attempt() gives 0 or an errno; the last one is returned, EWOULDBLOCK for a lock that stays taken.
template <typename Attempt>
int retry_lock(std::uint64_t retry_ns, Attempt attempt, int interval_ms = kLockRetryIntervalMs) {
  const auto deadline = retry_deadline(retry_ns);
  for (;;) {
    const int failure = attempt();
    if (failure == EINTR) continue;
    if (failure != EWOULDBLOCK) return failure;
    if (std::chrono::steady_clock::now() >= deadline) return EWOULDBLOCK;
    ::poll(nullptr, 0, interval_ms);
  }
}

// A file that is there to be locked, open, and whether the lock is ours. If it is, the name was the
// file's after the lock was taken: a holder may remove it.
struct LockFile {
  UniqueFd fd;
  NamedFile file;
  bool is_ours = false;
};

struct LockFileOptions {
  std::uint64_t retry_ns = kLockRetryNs;
  int interval_ms = kLockRetryIntervalMs;
  bool own_file_only = false;  // another user's file is kNotPermitted, and is not waited for
};

// Makes `path` (0600) if it does not exist, and takes its flock. Errors: kInUse (somebody removes
// the file again and again), kNotALapwingFile (not a plain file), kNotPermitted, kNotFound (the
// directory), kSystem.
absl::StatusOr<LockFile> take_lock_file(const std::string& path, const LockFileOptions& options);

// The process id that a holder has written into its lock file; 0 if there is none.
pid_t pid_in(int fd);

// The lock of the whole file, for writing; the descriptor may write. 0, EWOULDBLOCK, or an errno.
int lock_whole_file(int fd);
// The same, but ignores read locks: if only read locks prevent the lock, 0 is returned without it.
int lock_against_writers(int fd);
void unlock_whole_file(int fd);
// Whether another open file description has it. Errors: those of asking.
absl::StatusOr<bool> is_whole_file_locked(int fd, const std::string& path);

}  // namespace lapwing
