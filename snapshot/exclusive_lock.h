// The lock that makes a process the only one: a publisher of its bus and of its journal (flock on
// publisher.lock), a recorder of its recording (cli/record.cc).
//
// The kernel holds it until every duplicate of the descriptor is closed. The file thread's io_uring
// is given one, so that the last write of a killed publisher has ended before the next publisher
// starts.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace lapwing {

inline constexpr char kLockFileName[] = "publisher.lock";
inline constexpr std::uint64_t kLockRetryNs =
    10'000'000'000;  // a starter waits this long for the lock
inline constexpr int kLockRetryIntervalMs = 20;

// Held until the object and every duplicate of its descriptor are gone. The file stays.
class ExclusiveLock {
 public:
  // Retries for up to retry_ns (the kernel may still finish a killed publisher's last write), then
  // kBusTaken with the holder's pid. A publisher's `path` is <bus>/publisher.lock or <journal
  // root>/publisher.lock; `does` is what the holder does, and what the other is to do about it.
  // Errors: kBusTaken, kNotPermitted, kNotALapwingFile, kNotFound, kSystem.
  static absl::StatusOr<ExclusiveLock> take(
      const std::string& path, std::uint64_t retry_ns,
      const std::string& does = "publishes here; end it, or choose another directory");

  ExclusiveLock(ExclusiveLock&& other) noexcept;
  ExclusiveLock& operator=(ExclusiveLock&& other) noexcept;
  ~ExclusiveLock();
  int fd() const { return fd_; }

 private:
  explicit ExclusiveLock(int fd) : fd_(fd) {}
  int fd_ = -1;
};

}  // namespace lapwing
