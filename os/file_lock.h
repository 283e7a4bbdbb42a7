// File locks that belong to the open file description. The kernel holds one until every duplicate
// of its descriptor is closed. Closing another descriptor of the file in this process does not
// release it.
//
// There are two independent kinds. flock() is for a file that exists only to be locked, and that
// only its owner can open. A range lock (F_OFD_SETLK), here of the whole file, is for a file whose
// contents others may read.
//
// A process with only read permission cannot exclude a writer:
//  - An flock does not need write permission. So a lock file's mode is reset to 0600, and the file
//    is replaced if another user's process, except root's, holds it.
//  - A write lock on a range needs a writable descriptor. A reader can take a read lock, and can
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

// How long and how often a starting process tries to take a lock. The kernel may still be finishing
// the last write of a killed publisher, and holds its locks until then.
inline constexpr std::uint64_t kLockRetryNs = 10'000'000'000;
inline constexpr int kLockRetryIntervalMs = 20;

// Returns the end time of a retry that begins now. An unlimited wait lasts 31 years, the clock's
// limit.
inline std::chrono::steady_clock::time_point retry_deadline(std::uint64_t retry_ns) {
  constexpr std::uint64_t kRetryNsMax = 1'000'000'000'000'000'000;
  return std::chrono::steady_clock::now() +
         std::chrono::nanoseconds(std::min(retry_ns, kRetryNsMax));
}

// Calls attempt() until it returns a value other than EWOULDBLOCK and EINTR, or retry_ns have
// passed. attempt() returns 0 or an errno. Returns the last value: EWOULDBLOCK for a lock that
// stays taken.
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

// An open lock file, and whether this process holds its lock. If it does, `file` still had its name
// after the lock was taken. A holder may remove the file.
struct LockFile {
  UniqueFd fd;
  NamedFile file;
  bool is_ours = false;
};

struct LockFileOptions {
  std::uint64_t retry_ns = kLockRetryNs;
  int interval_ms = kLockRetryIntervalMs;
  bool own_file_only = false;  // another user's file is kNotPermitted, without waiting
};

// Creates `path` (0600) if it does not exist, and takes its flock. Errors: kInUse (another process
// removes the file repeatedly), kNotALapwingFile (not a regular file), kNotPermitted, kNotFound
// (the directory), kSystem.
absl::StatusOr<LockFile> take_lock_file(const std::string& path, const LockFileOptions& options);

// Returns the process id that a holder has written into its lock file, or 0 if there is none.
pid_t pid_in(int fd);

// Takes a write lock on the whole file. The descriptor must be writable. Returns 0, EWOULDBLOCK, or
// another errno.
int lock_whole_file(int fd);
// The same, but ignores read locks: if only read locks prevent the lock, 0 is returned without it.
int lock_against_writers(int fd);
void unlock_whole_file(int fd);
// Returns whether another open file description holds that lock. Errors: those of the query.
absl::StatusOr<bool> is_whole_file_locked(int fd, const std::string& path);

}  // namespace lapwing
